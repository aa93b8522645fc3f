// What requests about broadcasts may have: the body that makes one, the queries of lists, and a header.
import type { Audience } from '../../delivery/broadcast/audience.ts';
import { Type } from '../../http/schema.ts';
import { attemptOutcomes, type AttemptOutcome } from '../../store/attempts.ts';
import { broadcastStates } from '../../views/broadcast.ts';
import { deliveryOptionSchemas } from '../../views/delivery-options.ts';
import { allAudience, matchingAudience } from './audience-schema.ts';
import { idempotencyKeyOf } from './idempotency-key.ts';
import { exampleMessage, messageSchema } from './message-schema.ts';

const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }));

/** Each is a row to be written before the answer. Longer lists are for tags, or for the library. */
const maxIds = 10_000;
/** Bytes: for a list of recipients. */
export const bodyLimit = 128 * 1024;

export const createBody = Type.Object(
  {
    audience: Type.Unsafe<Audience>({
      description:
        'Every subscription; some by id; those of a user or with tags (all, any, none of these) at this moment; or some that need ' +
        'not be stored.',
      anyOf: [
        allAudience,
        {
          type: 'object',
          required: ['ids'],
          additionalProperties: false,
          properties: {
            ids: { type: 'array', minItems: 1, maxItems: maxIds, items: { type: 'integer', minimum: 1 } },
          },
        },
        matchingAudience,
        {
          type: 'object',
          required: ['subscriptions'],
          additionalProperties: false,
          properties: { subscriptions: { type: 'array', minItems: 1, items: { type: 'object' } } },
        },
      ],
    }),
    message: messageSchema,
    startAt: time('Nothing is sent before it. Default: now.'),
    ...deliveryOptionSchemas,
  },
  {
    additionalProperties: false,
    examples: [{ audience: 'all', message: exampleMessage, startAt: '2037-01-01T09:00:00+01:00' }],
  },
);

export const listQuery = {
  text: Type.Optional(Type.String({ description: 'Somewhere in title or message, whatever the case.' })),
  state: Type.Optional(
    Type.Unsafe<(typeof broadcastStates)[number]>({ type: 'string', enum: broadcastStates }),
  ),
  since: time('Whose start is not before it.'),
  until: time('Whose start is before it.'),
};

export const attemptsQuery = {
  outcome: Type.Optional(Type.Unsafe<AttemptOutcome>({ type: 'string', enum: attemptOutcomes })),
  subscription: Type.Optional(Type.Integer({ minimum: 1, description: 'Of this subscription only.' })),
};

export const idempotencyKey = idempotencyKeyOf(
  'A text of your own, at most 200 characters. A repeated request with the same key, message and audience makes no second ' +
    'broadcast: it is answered with the first one.',
);
