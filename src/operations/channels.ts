// Channels: topics that readers switch on and off.
import { maxTitleCharacters, maxTitles, type Channel } from '../audience/channels.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { Optional, Type } from '../http/schema.ts';
import { maxLanguageCharacters, readLanguage } from '../protocol/language.ts';
import type { ChannelStore } from '../store/readers.ts';
import { type NamedList, operation, type View, watchers } from './operation.ts';

const titleSchema = (description: string) =>
  Type.String({ minLength: 1, maxLength: maxTitleCharacters, format: 'channel-title', description });

const members = {
  title: titleSchema('Title for readers whose language has no title of its own.'),
  titles: Type.Unsafe<Channel['titles']>({
    type: 'object',
    maxProperties: maxTitles,
    propertyNames: { type: 'string', format: 'language', maxLength: maxLanguageCharacters },
    additionalProperties: titleSchema('In this language.'),
    description: 'Titles by language (BCP 47).',
  }),
  isOnByDefault: Type.Boolean({ description: 'Whether the channel is on for readers who have not chosen.' }),
};

/** Names follow the rules for tags. */
export const channelNameSchema = Type.String({ minLength: 1, format: 'channel-name' });

const example = {
  title: 'News',
  titles: { de: 'Nachrichten', fr: 'Actualités' },
  isOnByDefault: true,
};

const channelBody = Type.Named(
  'ChannelUpdate',
  {
    title: Type.Optional(
      titleSchema(
        'Title for readers if there is no title in their language. A new channel needs this title.',
      ),
    ),
    titles: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string | null>>>({
        ...members.titles,
        additionalProperties: { ...titleSchema('In this language.'), type: ['string', 'null'] },
        description: 'Titles by language (BCP 47). null removes the title in a language.',
      }),
    ),
    isOnByDefault: Optional.Boolean({
      description:
        'Whether the channel is on for readers who have not chosen. By default, a new channel is on.',
    }),
  },
  { additionalProperties: false, minProperties: 1, examples: [example] },
);

const channelView: View<Channel> = {
  schema: Type.Named(
    'Channel',
    { name: channelNameSchema, ...members },
    { examples: [{ name: 'news', ...example }] },
  ),
  toJson: (channel) => channel,
};

const params = { name: { ...channelNameSchema, description: 'The channel, percent-encoded.' } };
const target = ({ name }: { readonly name: string }): string => `channel ${name}`;

export const listChannels: NamedList<Channel> = {
  path: '/v1/channels',
  tag: 'Subscriptions',
  operationId: 'listChannels',
  summary: 'Lists channels: topics that readers switch on and off',
  roles: watchers,
  view: channelView,
  nameOf: ({ name }) => name,
  read: ({ store }) => store.channels.list(),
};

/** Finds a channel by its name. The name may be composed or decomposed Unicode. */
export const findChannel = async (channels: ChannelStore, name: string): Promise<Channel | undefined> =>
  (await channels.list()).find((channel) => channel.name === name.normalize('NFC'));

export const updateChannel = operation({
  route: 'PATCH /v1/channels/:name',
  tag: 'Subscriptions',
  operationId: 'updateChannel',
  summary: 'Creates or changes a channel',
  description:
    'Fields that you leave out do not change. Changing a channel does not affect the choices that readers have made.',
  params,
  body: channelBody,
  answer: channelView,
  errors: ['ERR_CHANNEL_NOT_FOUND', 'ERR_FIELD_VALUE', 'ERR_FIELD_TYPE'],
  action: 'channel.put',
  target,
  run: async ({ store: { channels } }, { name, titles = {}, ...given }) => {
    const known = await findChannel(channels, name);
    const title = given.title ?? known?.title;
    if (title === undefined)
      throw new DeskbellError('ERR_CHANNEL_NOT_FOUND', `There is no channel "${name}" yet; give it a title.`);
    return channels.put({
      name,
      title,
      titles: mergeTitles(known?.titles, titles),
      isOnByDefault: given.isOnByDefault ?? known?.isOnByDefault ?? true,
    });
  },
});

export const removeChannel = operation({
  route: 'DELETE /v1/channels/:name',
  tag: 'Subscriptions',
  operationId: 'removeChannel',
  summary: 'Removes a channel',
  description:
    'Readers no longer see the channel, and no new broadcast can be sent to it. Deskbell keeps readers’ choices for ' +
    'a removed channel, and applies them again if you create a channel with the same name.',
  params,
  errors: ['ERR_CHANNEL_NOT_FOUND'],
  action: 'channel.remove',
  target,
  run: async ({ store }, { name }) => {
    if (await store.channels.remove(name)) return;
    throw new DeskbellError('ERR_CHANNEL_NOT_FOUND', `There is no channel "${name}".`);
  },
});

/** Normalises language tags, so that a given title replaces the known title in the same language. */
function mergeTitles(
  known: Channel['titles'] = {},
  given: Readonly<Record<string, string | null>>,
): Channel['titles'] {
  const titles = new Map<string, string | null>(Object.entries(known));
  for (const [language, title] of Object.entries(given))
    titles.set(readLanguage(language) ?? language, title);
  return Object.fromEntries([...titles].filter((entry): entry is [string, string] => entry[1] !== null));
}
