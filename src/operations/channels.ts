// Channels: what readers switch on and off.
import { maxTitleCharacters, maxTitles, type Channel } from '../audience/channels.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { Type } from '../http/schema.ts';
import { maxLanguageCharacters } from '../protocol/language.ts';
import type { ChannelStore } from '../store/channels.ts';
import { operation, watchers, type NamedList } from './operation.ts';
import type { View } from './view.ts';

const titleSchema = (description: string) =>
  Type.String({ minLength: 1, maxLength: maxTitleCharacters, format: 'channel-title', description });

const members = {
  title: titleSchema('As readers see it, where there is no title in their language.'),
  titles: Type.Unsafe<Channel['titles']>({
    type: 'object',
    maxProperties: maxTitles,
    propertyNames: { type: 'string', format: 'language', maxLength: maxLanguageCharacters },
    additionalProperties: titleSchema('In this language.'),
    description: 'By language (BCP 47).',
  }),
  isOnByDefault: Type.Boolean({ description: 'For readers who have chosen nothing.' }),
};

/** Names are written as tags are. */
export const channelNameSchema = Type.String({ minLength: 1, format: 'channel-name' });

const example = {
  title: 'News',
  titles: { de: 'Nachrichten', fr: 'Actualités' },
  isOnByDefault: true,
};

/** What a channel is to be. */
const channelBody = Type.Model(
  'ChannelUpdate',
  Type.Object(
    {
      title: members.title,
      titles: Type.Optional(members.titles),
      isOnByDefault: Type.Optional({ ...members.isOnByDefault, default: true }),
    },
    { additionalProperties: false, examples: [example] },
  ),
);

/** What readers switch on and off. */
export const channelView: View<Channel> = {
  schema: Type.Model('Channel', Type.Object({ name: channelNameSchema, ...members })),
  example: { name: 'news', ...example },
  toJson: (channel) => channel,
};

const params = { name: { ...channelNameSchema, description: 'The channel, percent-encoded.' } };
const target = ({ name }: { readonly name: string }): string => `channel ${name}`;

export const listChannels: NamedList<Channel> = {
  path: '/v1/channels',
  tag: 'Subscriptions',
  operationId: 'listChannels',
  summary: 'Channels: what readers switch on and off',
  roles: watchers,
  view: channelView,
  nameOf: ({ name }) => name,
  read: ({ store }) => store.channels.list(),
};

/** The channel of a name, however its characters are composed. */
export const findChannel = async (channels: ChannelStore, name: string): Promise<Channel | undefined> =>
  (await channels.list()).find((channel) => channel.name === name.normalize('NFC'));

export const putChannel = operation({
  route: 'PUT /v1/channels/:name',
  tag: 'Subscriptions',
  operationId: 'putChannel',
  summary: 'Makes a channel, or replaces the one of this name',
  description: 'Choices that readers have made stay.',
  params,
  body: channelBody,
  answer: channelView,
  errors: ['ERR_FIELD_VALUE', 'ERR_FIELD_TYPE'],
  action: 'channel.put',
  target,
  run: ({ store }, { name, title, titles = {}, isOnByDefault = true }) =>
    store.channels.put({ name, title, titles, isOnByDefault }),
});

export const removeChannel = operation({
  route: 'DELETE /v1/channels/:name',
  tag: 'Subscriptions',
  operationId: 'removeChannel',
  summary: 'Removes a channel',
  description:
    'Readers no longer see it, and no new broadcast can be sent to it. Their choices stay stored, and hold again if a channel of ' +
    'this name is made anew.',
  params,
  errors: ['ERR_CHANNEL_NOT_FOUND'],
  action: 'channel.remove',
  target,
  run: async ({ store }, { name }) => {
    if (await store.channels.remove(name)) return;
    throw new DeskbellError('ERR_CHANNEL_NOT_FOUND', `There is no channel "${name}".`);
  },
});
