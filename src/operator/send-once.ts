// Sends what a request with an idempotency key asks for, once: a repeated request gets the answer of the first one.
import { createHash, randomUUID } from 'node:crypto';
import { checkIdempotencyKey, operatorKey } from '../delivery/idempotency-key.ts';
import { toSortedJson } from '../protocol/json-object.ts';
import type { MessageRequests } from '../store/message-requests.ts';
import type { Operator } from '../store/operators.ts';
import { UndeliveredError } from './undelivered-error.ts';

/**
 * The key is stored before anything is sent, so that a process which ends in between leaves a key without an answer, and the
 * message is not sent a second time.
 *
 * @param operator whose key it is
 * @param content what the request asks for
 * @param send throws where nothing was delivered, or an `UndeliveredError` where that is in doubt: the key is taken then
 * @throws {DeskbellError} ERR_MESSAGE_INVALID, ERR_IDEMPOTENCY_KEY, ERR_MESSAGE_IN_DOUBT, and what `send` throws
 */
export async function sendOnce<Answer>(
  requests: MessageRequests,
  operator: Pick<Operator, 'name'> | null,
  key: unknown,
  content: object,
  send: () => Promise<Answer>,
): Promise<Answer> {
  if (key === undefined) return send();
  checkIdempotencyKey(key);
  const request = {
    key: operatorKey(operator?.name ?? '', key),
    contentHash: createHash('sha256').update(toSortedJson(content)).digest(),
    claim: randomUUID(),
  };
  const stored = await requests.begin(request);
  if (stored !== undefined) return JSON.parse(stored) as Answer;
  let answer: Answer;
  try {
    answer = await send();
  } catch (error) {
    if (!(error instanceof UndeliveredError && error.isInDoubt)) await requests.release(request);
    throw error;
  }
  await requests.finish(request, JSON.stringify(answer));
  return answer;
}
