// People: what the application stores about a person, and what the person has chosen.
import { createHash, randomBytes } from 'node:crypto';
import { maxChannels } from '../audience/channels.ts';
import type { Person, PersonChange } from '../audience/person.ts';
import { isoTimeOf } from '../delivery/broadcast/format-broadcast.ts';
import { Optional, Type } from '../http/schema.ts';
import { maxLanguageCharacters } from '../protocol/language.ts';
import { channelNameSchema } from './channels.ts';
import type { RemovedPerson } from '../store/remove-person.ts';
import type { Store } from '../store/store.ts';
import { userKeywords } from './audience.ts';
import { operation, type OperationContext, type View } from './operation.ts';

const languageKeywords = { format: 'language', maxLength: maxLanguageCharacters };
const zoneKeywords = { format: 'timezone', maxLength: 64 };
const valueSchemas = [Type.String({ format: 'data-text' }), { type: 'number' }];
const nameSchema = { type: 'string', format: 'data-name' };

/** @param type the JSON type of the map itself, as distinct from its values */
const mapOf = (names: object, values: object, description: string, type: unknown = 'object') => ({
  type,
  maxProperties: maxChannels,
  propertyNames: names,
  additionalProperties: values,
  description,
});

const about = {
  data: 'Strings and numbers that placeholders in messages stand for; at most 1 KB as JSON.',
  channels:
    'Choices by channel; true is on. For any other channel, the subscription’s choice applies. If there is none, the channel’s default applies.',
};

const example = {
  data: { name: 'Ada', points: 3 },
  language: 'de',
  timeZone: 'Europe/Berlin',
  channels: { news: false },
};

export const choicesSchema = (description: string) => mapOf(channelNameSchema, Type.Boolean(), description);

const personChangeSchema = Type.Model<PersonChange>(
  'PersonUpdate',
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
        'Fields that you leave out do not change. null clears a field of the person, one value of data, or the choice for one channel.',
      examples: [example],
    },
  ),
);

export const personView: View<Person> = {
  schema: Type.Named(
    'Person',
    {
      user: Type.String(),
      data: mapOf(nameSchema, { anyOf: valueSchemas }, about.data),
      language: Optional.String({
        description: 'The person’s language (BCP 47). If absent, each subscription’s own language applies.',
      }),
      timeZone: Optional.String({
        description:
          'The IANA name of the person’s time zone. If absent, each subscription’s own time zone applies.',
      }),
      channels: choicesSchema(about.channels),
    },
    { examples: [{ user: '42', ...example }] },
  ),
  toJson: (person) => person,
};

export const userParams = {
  user: Type.String({ ...userKeywords, description: 'The person, percent-encoded.' }),
};

const target = (
  { user }: { readonly user: string },
  { hashPerson }: Pick<OperationContext, 'hashPerson'>,
): string => `user ${hashPerson(user)}`;

export const updatePerson = operation({
  route: 'PATCH /v1/people/:user',
  tag: 'Subscriptions',
  operationId: 'updatePerson',
  summary: 'Sets data, language, time zone and choices of a person',
  description:
    'The values of a person take precedence over the values of the person’s subscriptions. DELETE /v1/subscriptions?user= removes a person’s values too.',
  params: userParams,
  body: personChangeSchema,
  answer: personView,
  errors: ['ERR_CHANNEL_NOT_FOUND', 'ERR_FIELD_VALUE', 'ERR_FIELD_TYPE'],
  action: 'person.update',
  target,
  run: ({ store }, { user, ...change }) => store.readers.setPerson(user, change),
});

/** How much data was deleted, and a receipt with which the removal can be proved later. */
export interface PersonRemoval extends RemovedPerson {
  readonly removalReceipt: string;
}

/** Identifies a removal in the audit by a salted hash. Only the receipt has the salt. */
const receiptTarget = (user: string, receipt: string): string =>
  `receipt ${createHash('sha256').update(`${receipt}\0${user}`).digest('base64url')}`;

export interface CheckedRemoval {
  /** Absent if the receipt is for another person, or if the audit record is no longer stored. */
  readonly removedAtMs?: number | undefined;
  readonly by?: string | undefined;
  /** How many subscriptions the person has now. A removed person may have subscribed again. */
  readonly subscriptions: number;
}

export async function checkRemoval(
  { audit, subscriptions }: Pick<Store, 'audit' | 'subscriptions'>,
  user: string,
  receipt: string,
): Promise<CheckedRemoval> {
  const records = await audit.list({ target: receiptTarget(user, receipt), limit: 1 });
  const record = records.find(({ status }) => status === 200);
  const count = await subscriptions.count({ user });
  return { removedAtMs: record?.atMs, by: record?.operator, subscriptions: count };
}

export const checkedRemovalView: View<CheckedRemoval> = {
  schema: Type.Named('CheckedRemoval', {
    removedAt: Optional.Time(
      'When the person was removed. Absent if the receipt does not belong to this person, or if the audit of that time is no longer kept.',
    ),
    by: Optional.String({ description: 'Who removed the person.' }),
    subscriptions: Type.Integer({
      minimum: 0,
      description: 'The number of subscriptions now, since the person may have subscribed again.',
    }),
  }),
  toJson: ({ removedAtMs, ...removal }) => ({
    removedAt: isoTimeOf(removedAtMs),
    ...removal,
  }),
};

const removedPersonView: View<PersonRemoval> = {
  schema: Type.Named('RemovedPerson', {
    subscriptions: Type.Integer(),
    ended: Type.Integer({ description: 'Subscriptions that had already ended.' }),
    broadcasts: Type.Integer({ description: 'Broadcasts that were for this person alone.' }),
    schedules: Type.Integer({ description: 'Schedules that were for this person alone.' }),
    bells: Type.Integer({ description: 'Bells that were for this person alone.' }),
    recipients: Type.Integer({ description: 'Entries in lists of recipients.' }),
    attempts: Type.Integer({ description: 'Entries of the attempt log.' }),
    receipts: Type.Integer({ description: 'Reports on notifications.' }),
    removalReceipt: Type.String({
      description:
        'A receipt. With the receipt and the user, GET /v1/people/{user}/removal later returns when the person was removed. Deskbell does not store the receipt.',
    }),
  }),
  toJson: (removed) => removed,
};

export const removePerson = operation({
  route: 'DELETE /v1/subscriptions',
  tag: 'Subscriptions',
  operationId: 'removePerson',
  summary: 'Removes a person',
  description:
    'Deletes all data of this user from the store. The audit keeps a keyed hash of the user. Data in backups and logs is not ' +
    'deleted.',
  query: { user: Type.String({ ...userKeywords, description: 'The person to remove.' }) },
  answer: removedPersonView,
  errors: ['ERR_FIELD_VALUE'],
  action: 'person.remove',
  target,
  run: async ({ store: { audit, people } }, { user }, operator): Promise<PersonRemoval> => {
    const removalReceipt = randomBytes(16).toString('base64url');
    // store the record first: if that fails, the person is not removed
    const record = await audit.begin({
      operator,
      action: 'person.receipt',
      target: receiptTarget(user, removalReceipt),
    });
    const removed = await people.remove(user, operator);
    await audit.finish(record, { status: 200 });
    return { ...removed, removalReceipt };
  },
});
