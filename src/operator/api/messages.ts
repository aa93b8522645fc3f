// POST /v1/messages: one message to one subscription, or to the devices of a person; answers what the push service said.
import type { SubscriptionInput } from '../../delivery/sender.ts';
import { Type } from '../../http/schema.ts';
import type { ServiceApp } from '../../http/service-app.ts';
import { pushOptionSchemas } from '../../views/delivery-options.ts';
import { sentMessageSchema } from '../../views/sent-message.ts';
import type { OperatorContext } from '../context.ts';
import { sendMessage } from '../send-message.ts';
import { sendOnce } from '../send-once.ts';
import { operationsOf } from './operations.ts';
import { idempotencyKeyOf } from './idempotency-key.ts';
import { exampleMessage, messageSchema } from './message-schema.ts';

const body = Type.Object(
  {
    to: Type.Object(
      {
        id: Type.Optional(Type.Integer({ minimum: 1, description: 'Of a stored subscription.' })),
        user: Type.Optional(Type.String({ description: 'All subscriptions of this person, at most 100.' })),
        subscription: Type.Optional(
          Type.Unsafe<SubscriptionInput>({
            type: 'object',
            description: 'One that need not be stored, as PushSubscription.toJSON() gives it.',
          }),
        ),
      },
      { description: 'One of them.', additionalProperties: false },
    ),
    message: messageSchema,
    ...pushOptionSchemas,
  },
  { additionalProperties: false, examples: [{ to: { id: 1 }, message: exampleMessage, urgency: 'high' }] },
);

export function addMessageRoutes(app: ServiceApp, parts: OperatorContext): void {
  const operations = operationsOf(app, 'Sending');

  operations.add('POST /v1/messages', {
    summary: 'Sends one message and returns the push service’s answer',
    description:
      'The message is not stored or retried. For many subscriptions, create a broadcast. If the answer is lost and the request ' +
      'repeated without an Idempotency-Key, the message is sent twice; it replaces itself on the screen unless its tag is null.',
    headers: idempotencyKeyOf(
      'A text of your own, at most 200 characters, that holds for a day. A repeated request with the same key and body sends ' +
        'nothing and gets the first answer; while there is none, or where the process ended before there was one, a 409.',
    ),
    body,
    answer: {
      schema: Type.Object({ items: Type.Array(sentMessageSchema) }),
      example: {
        items: [{ id: 1, pushService: 'https://fcm.googleapis.com', outcome: 'accepted', status: 201 }],
      },
    },
    errors: [
      'ERR_MESSAGE_INVALID',
      'ERR_PAYLOAD_TOO_LARGE',
      'ERR_SUBSCRIPTION_INVALID',
      'ERR_SUBSCRIPTION_NOT_FOUND',
      'ERR_FIELD_VALUE',
      'ERR_IDEMPOTENCY_KEY',
      'ERR_MESSAGE_IN_DOUBT',
    ],
    audit: { action: 'message.send' },
    handle: async (request) => {
      const { to, message, ...options } = request.body;
      request.auditTarget = describeTarget(to, parts);
      const key = request.headers['idempotency-key'];
      const items = await sendOnce(parts.store.messageRequests, key, request.body, () =>
        sendMessage(parts, to, message, options),
      );
      return { items };
    },
  });
}

function describeTarget(
  { id, user }: { readonly id?: number; readonly user?: string },
  { hashPerson }: OperatorContext,
): string {
  if (user !== undefined) return `user ${hashPerson(user)}`;
  return id === undefined ? 'subscription' : `subscription ${id}`;
}
