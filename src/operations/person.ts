// A person as it is shown, and what may be changed of one.
import { maxChannels } from '../audience/channels.ts';
import type { Person, PersonChange } from '../audience/person.ts';
import { Type } from '../http/schema.ts';
import { maxLanguageCharacters } from '../protocol/language.ts';
import { channelNameSchema } from './channel.ts';
import type { View } from './view.ts';

const languageKeywords = { format: 'language', maxLength: maxLanguageCharacters };
const zoneKeywords = { format: 'timezone', maxLength: 64 };
const valueSchemas = [Type.String({ format: 'data-text' }), { type: 'number' }];
const nameSchema = { type: 'string', format: 'data-name' };

/** @param type of the whole */
const mapOf = (names: object, values: object, description: string, type: unknown = 'object') => ({
  type,
  maxProperties: maxChannels,
  propertyNames: names,
  additionalProperties: values,
  description,
});

const about = {
  data: 'Texts and numbers that placeholders in messages stand for; at most 1 KB as JSON.',
  channels:
    'Choices by channel: true is on. For all others those of the subscription hold, then the default of the channel.',
};

const example = {
  data: { name: 'Ada', points: 3 },
  language: 'de',
  timeZone: 'Europe/Berlin',
  channels: { news: false },
};

/** Choices that were made. */
export const choicesSchema = (description: string) => mapOf(channelNameSchema, Type.Boolean(), description);

/** What is absent stays. */
export const personChangeSchema = Type.Model(
  'PersonUpdate',
  Type.Unsafe<PersonChange>(
    Type.Object(
      {
        data: Type.Optional(
          mapOf(nameSchema, { anyOf: [...valueSchemas, { type: 'null' }] }, about.data, ['object', 'null']),
        ),
        language: Type.Optional({ type: ['string', 'null'], ...languageKeywords }),
        timeZone: Type.Optional({ type: ['string', 'null'], ...zoneKeywords }),
        channels: Type.Optional(
          mapOf(channelNameSchema, { type: ['boolean', 'null'] }, about.channels, ['object', 'null']),
        ),
      },
      {
        additionalProperties: false,
        minProperties: 1,
        description:
          'What is absent stays as it is; null clears: a member of the person, one value of data, or the choice for one channel.',
        examples: [example],
      },
    ),
  ),
);

/** What the application has said of a person, and what the person has chosen. */
export const personView: View<Person> = {
  schema: Type.Model(
    'Person',
    Type.Object({
      user: Type.String(),
      data: mapOf(nameSchema, { anyOf: valueSchemas }, about.data),
      language: Type.Optional(Type.String({ description: 'BCP 47. Absent: each subscription’s own holds.' })),
      timeZone: Type.Optional(Type.String({ description: 'IANA. Absent: each subscription’s own holds.' })),
      channels: choicesSchema(about.channels),
    }),
  ),
  example: { user: '42', ...example },
  toJson: (person) => person,
};
