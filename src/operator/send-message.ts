// Sends one message to one subscription or to a person's devices, once per idempotency key, and returns the outcomes.
import { createHash, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { checkIdempotencyKey, operatorKey } from '../delivery/broadcast/create-broadcast.ts';
import type { SendOptions, SendResult } from '../delivery/sender.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { ProblemError } from '../http/problem.ts';
import type { Addressees } from '../operations/audience.ts';
import { sentMessageToJson } from '../operations/message.ts';
import { csvContentType, csvFileName, csvHeader, readOutcomes, toCsv } from '../operations/outcomes.ts';
import { toSortedJson } from '../protocol/json-object.ts';
import { assertNotBlank } from '../protocol/message/check-message.ts';
import { encodeForReaders, isForReaders } from '../protocol/message/encode-payload.ts';
import type { Message } from '../protocol/message/message.ts';
import type { PushOptions } from '../protocol/request.ts';
import type { AttemptStore, RowOutcome } from '../store/attempts.ts';
import type { MessageRequests } from '../store/message-requests.ts';
import type { Operator } from '../store/operators.ts';
import { requireSubscription, type StoredSubscription } from '../store/subscriptions.ts';
import type { OperatorContext } from './context.ts';
import { readAddressedDevices } from './searches.ts';

/** No push service accepted the message, but repeating the request may help. The problem's `items` has the results. */
export class UndeliveredError extends ProblemError {
  readonly isInDoubt: boolean;
  /** The shortest wait that a push service has asked for; undefined if no push service has asked for one. */
  readonly retryAfterSeconds: number | undefined;

  constructor({ items, isInDoubt }: SentMessages) {
    super('ERR_MESSAGE_RETRY', 'No push service has accepted the message yet.', { items });
    this.isInDoubt = isInDoubt;
    const seconds = items.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
    this.retryAfterSeconds = seconds.length === 0 ? undefined : Math.min(...seconds);
  }
}

/** @throws {UndeliveredError} if no message was accepted, but a repeated request may succeed */
export function assertNoRetry(sent: SentMessages): void {
  const outcomes = new Set(sent.items.map(({ outcome }) => outcome));
  if (outcomes.has('retry') && !outcomes.has('accepted')) throw new UndeliveredError(sent);
}

/** @param show returns the outcome without the members that the operator may not see */
export function sendOutcomes(
  reply: FastifyReply,
  attempts: Pick<AttemptStore, 'outcomesAfter'>,
  broadcastId: number,
  show: (outcome: RowOutcome) => RowOutcome = (outcome) => outcome,
): FastifyReply {
  async function* lines(): AsyncGenerator<string> {
    yield csvHeader;
    for await (const outcomes of readOutcomes(attempts, broadcastId)) yield toCsv(outcomes.map(show));
  }
  return reply
    .header('content-type', csvContentType)
    .header('content-disposition', `attachment; filename="${csvFileName(broadcastId)}"`)
    .send(Readable.from(lines(), { highWaterMark: 1 }));
}

interface SentMessages {
  readonly items: readonly ReturnType<typeof sentMessageToJson>[];
  /** An attempt without a response may have reached its push service. */
  readonly isInDoubt: boolean;
  /** The user that the devices belong to, if known. */
  readonly user?: string | undefined;
}

/**
 * @throws {DeskbellError} before anything is sent: ERR_SUBSCRIPTION_NOT_FOUND, ERR_FIELD_VALUE, and what `Sender.send` throws
 */
export async function sendMessage(
  { store, sender }: OperatorContext,
  to: Addressees,
  message: Message,
  options: SendOptions,
): Promise<SentMessages> {
  assertNotBlank(message);
  if ('subscription' in to) {
    const result = await sender.send(to.subscription, message, options);
    const items = [sentMessageToJson(undefined, to.subscription.endpoint, result)];
    return { items, isInDoubt: isInDoubt(result) };
  }
  const rows =
    'user' in to
      ? await readAddressedDevices(to.user, store.subscriptions)
      : [requireSubscription(await store.subscriptions.findById(to.id), to.id)];
  const results = await Promise.allSettled(await startSending(rows, message, options, { store, sender }));
  const isAnySent = results.some(({ status }) => status === 'fulfilled');
  const items = rows.map(({ id: rowId, endpoint }, index) => {
    const result = results[index]!;
    if (result.status === 'fulfilled') return sentMessageToJson(rowId, endpoint, result.value);
    if (!isAnySent) throw result.reason;
    return describeFault(rowId, endpoint, result.reason);
  });
  return {
    items,
    user: 'user' in to ? to.user : rows[0]?.user,
    isInDoubt: results.some((result) => result.status === 'fulfilled' && isInDoubt(result.value)),
  };
}

/** If the message differs by reader, encodes it for all readers before it is sent to the first reader. */
async function startSending(
  rows: readonly StoredSubscription[],
  message: Message,
  options: PushOptions,
  { store, sender }: Pick<OperatorContext, 'store' | 'sender'>,
): Promise<readonly Promise<SendResult>[]> {
  if (!isForReaders(message)) return rows.map((row) => sender.send(row, message, options));
  const encodeFor = encodeForReaders(message);
  const facts = await store.readers.factsOf(rows);
  const payloads = rows.map((row) => encodeFor(facts.get(row.id) ?? {}));
  return rows.map((row, index) => sender.sendPayload(row, payloads[index]!, options));
}

const isInDoubt = ({ outcome }: SendResult): boolean =>
  outcome.kind === 'retry' && outcome.isInDoubt === true;

/** The result for a recipient to whom the message could not be sent. */
function describeFault(id: number, endpoint: string, fault: unknown): SentMessages['items'][number] {
  if (!(fault instanceof DeskbellError)) throw fault;
  return {
    id,
    pushService: new URL(endpoint).origin,
    outcome: 'rejected',
    status: undefined,
    reason: undefined,
    detail: fault.message,
    retryAfterSeconds: undefined,
  };
}

/**
 * Sends once for each idempotency key; a repeated request gets the first response. The key is stored before anything is
 * sent: if the process ends before it stores the response, a repeated request does not send the message again.
 *
 * @param operator owner of the key
 * @param content the content of the request
 * @param send throws a `DeskbellError` if nothing was delivered. If an error leaves open whether the message was
 *   delivered, the key stays stored
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
    // an unexpected error may have occurred after something was sent
    const isUnsent =
      error instanceof DeskbellError && !(error instanceof UndeliveredError && error.isInDoubt);
    if (isUnsent) await requests.release(request);
    throw error;
  }
  await requests.finish(request, JSON.stringify(answer));
  return answer;
}
