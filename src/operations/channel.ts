// A channel as it is shown, and as it is described by whoever makes one.
import { maxTitleCharacters, maxTitles, type Channel } from '../audience/channels.ts';
import { Type } from '../http/schema.ts';
import { maxLanguageCharacters } from '../protocol/language.ts';
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
export const channelBody = Type.Model(
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
