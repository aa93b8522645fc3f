// What requests about broadcasts may have: the body that makes one, the queries of lists, and a header.
import { idKeywords, Type } from '../../http/schema.ts';
import { attemptOutcomes, type AttemptOutcome } from '../../store/attempts.ts';
import { audienceSchema } from '../../operations/audience.ts';
import { broadcastStates } from '../../operations/broadcast.ts';
import { deliveryOptionSchemas } from '../../operations/delivery-options.ts';
import { exampleForReaders, exampleMessage, messageSchema } from '../../operations/message.ts';
import { idempotencyKeyOf } from './operations.ts';

const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }));

/** Bytes: for a list of recipients. */
export const bodyLimit = 128 * 1024;

export const createBody = Type.Model(
  'BroadcastRequest',
  Type.Object(
    {
      audience: audienceSchema,
      message: messageSchema,
      startAt: time('Nothing is sent before it. At most a minute ago. Default: now.'),
      ...deliveryOptionSchemas,
    },
    {
      additionalProperties: false,
      examples: [
        { audience: 'all', message: exampleMessage, startAt: '2037-01-01T09:00:00+01:00' },
        { audience: 'all', message: exampleForReaders, localTime: '09:00', timeZone: 'Europe/Berlin' },
      ],
    },
  ),
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
  subscription: Type.Optional(Type.Integer({ ...idKeywords, description: 'Of this subscription only.' })),
};

export const idempotencyKey = idempotencyKeyOf(
  'A text of your own, at most 200 characters. A repeated request with the same key, message and audience makes no second ' +
    'broadcast: it is answered with the first one.',
);
