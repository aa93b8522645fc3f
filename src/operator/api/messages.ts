// POST /v1/messages: sends one message to a subscription or a person's devices, and returns the push services'
// responses. A message to a person can be plain text.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { type ObjectValue, Optional, type ServiceApp, Type, type ValueOf } from '../../http/schema.ts';
import { addresseesSchema, userKeywords, type Addressees } from '../../operations/audience.ts';
import {
  exampleForReaders,
  exampleMessage,
  messageSchema,
  pushOptionSchemas,
  sentMessageSchema,
} from '../../operations/message.ts';
import type { OperatorContext } from '../context.ts';
import { senders } from '../../operations/operation.ts';
import { assertNoRetry, sendMessage, sendOnce, UndeliveredError } from '../send-message.ts';
import { assertSameForAll, tellsSubscriptions } from '../authorize.ts';
import { addRoute, idempotencyKeyOf } from './operations.ts';

const body = Type.Named(
  'MessageRequest',
  { to: addresseesSchema, message: messageSchema, ...pushOptionSchemas },
  {
    additionalProperties: false,
    examples: [
      { to: { id: 1 }, message: exampleMessage, urgency: 'high' },
      { to: { user: '42' }, message: exampleForReaders },
    ],
  },
);

type MessageRequest = ValueOf<typeof body>;

const textSchema = Type.String({ minLength: 1, examples: ['Backups are done'] });

/** The query parameters of a request whose plain-text body is the message. */
const textQuery = {
  user: Optional.String({
    ...userKeywords,
    description: 'For text/plain: the message is sent to all subscriptions of this person.',
  }),
  title: Optional.String({
    description:
      'For text/plain: the title of the message. Default: the host of the public URL, or the name of this machine.',
  }),
  ...pushOptionSchemas,
};

const answerSchema = Type.Named('SentMessages', {
  items: Type.Array(sentMessageSchema, {
    description: 'One result for each subscription.',
    examples: [[{ id: 1, pushService: 'https://fcm.googleapis.com', outcome: 'accepted', status: 201 }]],
  }),
  reachedNobody: Type.Boolean({
    description:
      'No push service has accepted the message, and none will accept it later. Reach the person in another way, such as by e-mail.',
  }),
});

export function addMessageRoutes(app: ServiceApp, parts: OperatorContext): void {
  addRoute(app, 'Sending', 'POST /v1/messages', {
    operationId: 'sendMessage',
    summary: 'Sends one message and returns the push service’s response',
    description:
      'The message is not stored or retried. If no push service accepts the message but one may accept it later, the response is ' +
      'a 503, and you should repeat the request. If all messages were rejected, or all subscriptions have ended, the response is a ' +
      '200 with these outcomes. For many subscriptions, create a broadcast. If the response is lost and you repeat the request ' +
      'without an Idempotency-Key, the message is sent twice. The second notification replaces the first one, unless the tag is null. ' +
      'If the message has texts or placeholders, each stored subscription gets the text for its reader.',
    headers: idempotencyKeyOf(
      'A text that you choose, at most 200 characters, which is valid for a day. If you repeat a request with the same key and ' +
        'body, nothing is sent, and you get the first response. If there is no first response yet, or the process ended or failed ' +
        'before there was a response, you get a 409.',
    ),
    query: textQuery,
    body,
    textBody: textSchema,
    roles: senders,
    answer: answerSchema,
    errors: [
      'ERR_MESSAGE_INVALID',
      'ERR_PAYLOAD_TOO_LARGE',
      'ERR_PLACEHOLDER_VALUE',
      'ERR_SUBSCRIPTION_INVALID',
      'ERR_SUBSCRIPTION_NOT_FOUND',
      'ERR_FIELD_VALUE',
      'ERR_IDEMPOTENCY_KEY',
      'ERR_MESSAGE_IN_DOUBT',
      'ERR_MESSAGE_RETRY',
    ],
    audit: { action: 'message.send' },
    handle: async (request, reply) => {
      const asked = readRequest(request.body, request.query, parts.defaultTitle);
      const { to, message, ...options } = asked;
      assertSameForAll(request.operator, message);
      request.auditTarget = describeTarget(to, parts);
      const key = request.headers['idempotency-key'];
      return sendOnce(parts.store.messageRequests, request.operator, key, asked, async () => {
        const sent = await sendMessage(parts, to, message, options);
        const { items } = sent;
        assertNoRetry(sent);
        const reachedNobody = !items.some(({ outcome }) => outcome === 'accepted');
        if (reachedNobody && sent.user !== undefined) await parts.store.webhooks.tellUnreached(sent.user);
        return {
          items: tellsSubscriptions(request.operator, to) ? items : items.map(withoutId),
          reachedNobody,
        };
      }).catch((error: unknown) => {
        if (error instanceof UndeliveredError && error.retryAfterSeconds !== undefined)
          reply.header('retry-after', String(error.retryAfterSeconds));
        throw error;
      });
    },
  });
}

/** @throws {DeskbellError} ERR_REQUEST_INVALID for text without a user, or a query together with JSON */
function readRequest(
  given: MessageRequest | string,
  query: ObjectValue<typeof textQuery>,
  defaultTitle: string,
): MessageRequest {
  if (typeof given === 'string') {
    const { user, title, ...options } = query;
    if (user !== undefined)
      return { to: { user }, message: { title: title ?? defaultTitle, message: given }, ...options };
    const detail = 'user is missing; give a user in the query, such as ?user=me.';
    const fields = [{ pointer: '/user', code: 'ERR_FIELD_MISSING', detail }] as const;
    throw new DeskbellError('ERR_REQUEST_INVALID', detail, { fields });
  }
  if (Object.keys(query).length === 0) return given;
  throw new DeskbellError(
    'ERR_REQUEST_INVALID',
    'The query is for text/plain; with JSON, give everything in the body.',
  );
}

const withoutId = <Item extends object>(item: Item): Item => ({ ...item, id: undefined });

function describeTarget(to: Addressees, { hashPerson }: OperatorContext): string {
  if ('user' in to) return `user ${hashPerson(to.user)}`;
  return 'id' in to ? `subscription ${to.id}` : 'subscription';
}
