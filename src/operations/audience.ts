// Schemas of audiences, as used in request bodies and in schedule responses.
import { maxTags, maxUserBytes } from '../audience/user-and-tags.ts';
import type { Audience, MatchingAudience } from '../delivery/broadcast/audience.ts';
import type { RecurringAudience } from '../delivery/schedule/create-schedule.ts';
import type { SubscriptionInput } from '../delivery/message-path/subscription-input.ts';
import { idKeywords, Optional, type Schema, Type } from '../http/schema.ts';
import { maxEndpointLength } from '../protocol/endpoint-policy.ts';
import { type AskedAudience, outcomeGroups } from '../store/broadcasts.ts';

/** The limit is in bytes. `maxLength` counts characters, and a text never has more characters than bytes. */
export const userKeywords = { minLength: 1, maxLength: maxUserBytes, format: 'user' } as const;
const tagSchema = Type.String({ minLength: 1, format: 'tag' });

/** @param minItems 0 if the list may be empty */
export const tagsSchema = (minItems: 0 | 1, description: string): Schema<readonly string[]> =>
  Type.Array(tagSchema, { minItems, maxItems: maxTags, description });

const allAudience = Type.Literal('all');

const tagExpression = Type.Named(
  'TagExpression',
  {
    all: Type.Optional(tagsSchema(1, 'All of these tags.')),
    any: Type.Optional(tagsSchema(1, 'At least one of these tags.')),
    none: Type.Optional(tagsSchema(1, 'None of these.')),
  },
  { minProperties: 1, additionalProperties: false },
);

/** The subscriptions that belong to a user or have certain tags. */
const matchingAudience = Type.Model<MatchingAudience>(
  'MatchingAudience',
  Type.Object(
    {
      user: Optional.String({ ...userKeywords, description: 'All subscriptions of this person.' }),
      tags: Type.Optional(tagExpression),
    },
    {
      minProperties: 1,
      additionalProperties: false,
      description:
        'The subscriptions of a user, the subscriptions with tags, or a user’s subscriptions with tags.',
    },
  ),
);

/** Recipients of an earlier broadcast with a certain outcome. */
const outcomeAudience = Type.Named(
  'OutcomeAudience',
  {
    broadcast: Type.Integer({ ...idKeywords, description: 'Id of an earlier broadcast.' }),
    outcome: Type.Enum(outcomeGroups, {
      description:
        'An outcome; `missed` for recipients whose message ended with another outcome than `accepted` or `doubtful`; a reason for which readers were left out; or, for recipients whose message was accepted, what their browsers reported or did not report.',
    }),
  },
  {
    additionalProperties: false,
    description:
      'The stored subscriptions with an outcome in an earlier broadcast. They are looked up once, when the new broadcast is created.',
  },
);

const keys = {
  p256dh: Type.String({
    description: 'A 65-byte uncompressed point on P-256 as base64, standard or URL-safe, padded or not.',
    format: 'p256-point',
  }),
  auth: Type.String({
    description: '16 bytes as base64, standard or URL-safe, padded or not.',
    format: 'auth-secret',
  }),
};
/** Refuses `p256dh` and `auth` next to `keys`, because they would take precedence over `keys`. */
const notBeside = { p256dh: Type.Optional(Type.Never()), auth: Type.Optional(Type.Never()) };
const endpoint = Type.String({
  description: 'The endpoint that the browser gave.',
  maxLength: maxEndpointLength,
  format: 'endpoint',
});
const vapidPublicKey = Optional.String({
  description: 'The key with which the subscription was made. Default: the current key.',
});

/** A subscription that need not be stored. */
const pushSubscriptionSchema = Type.Model<SubscriptionInput>(
  'PushSubscription',
  Type.Union(
    [
      Type.Named('SubscriptionOfBrowser', {
        endpoint,
        keys: Type.Named('SubscriptionKeys', keys),
        ...notBeside,
        vapidPublicKey,
      }),
      Type.Named('SubscriptionValues', { endpoint, ...keys, vapidPublicKey }),
    ],
    {
      description:
        'The result of PushSubscription.toJSON(), or the three values. Other members are ignored. The setting pushServices must ' +
        'admit the push service.',
    },
  ),
);

/** The schema of an object whose only member is `name`. */
export const one = (model: string, name: string, schema: Schema, description?: string): Schema =>
  Type.Named(
    model,
    { [name]: schema },
    { additionalProperties: false, ...(description !== undefined && { description }) },
  );

/** Each id costs a row that is written before the response. For more recipients, use tags or the library. */
const maxIds = 10_000;

export const audienceSchema = Type.Model<Audience>(
  'Audience',
  Type.Union(
    [
      allAudience,
      one('AudienceOfIds', 'ids', Type.Array(Type.Integer(idKeywords), { minItems: 1, maxItems: maxIds })),
      matchingAudience,
      outcomeAudience,
      one('AudienceOfSubscriptions', 'subscriptions', Type.Array(pushSubscriptionSchema, { minItems: 1 })),
    ],
    {
      description:
        'All subscriptions; the subscriptions with some ids; the subscriptions that belong to a user or have tags at this moment; the subscriptions with an outcome in an earlier broadcast; or a list of subscriptions, which need not be stored.',
    },
  ),
);

export const recurringAudienceSchema = Type.Model<RecurringAudience>(
  'RecurringAudience',
  Type.Union([allAudience, matchingAudience], {
    description:
      'All subscriptions, the subscriptions of a user, or the subscriptions with tags. They are looked up each time.',
  }),
);

/** The audience of a broadcast as it was requested. A list of subscriptions is not repeated. */
export const askedAudienceSchema = Type.Model<AskedAudience>(
  'AskedAudience',
  Type.Union(
    [
      allAudience,
      one(
        'AskedList',
        'list',
        Type.Enum(['ids', 'subscriptions'], { description: 'A list of ids, or of subscriptions.' }),
      ),
      matchingAudience,
      outcomeAudience,
    ],
    {
      description:
        'The audience in the request. For a list, only the kind of the list. Absent if the audience was not recorded.',
    },
  ),
);

/** The recipient of one message. */
export type Addressees =
  | { readonly id: number }
  | { readonly user: string }
  /** A subscription that need not be stored. */
  | { readonly subscription: SubscriptionInput };

export const addresseesSchema = Type.Model<Addressees>(
  'Addressees',
  Type.Union([
    one('AddresseeById', 'id', Type.Integer({ ...idKeywords, description: 'Id of a stored subscription.' })),
    one(
      'AddresseeByUser',
      'user',
      Type.String({ ...userKeywords, description: 'All subscriptions of this person, at most 100.' }),
    ),
    one('AddresseeBySubscription', 'subscription', pushSubscriptionSchema),
  ]),
);
