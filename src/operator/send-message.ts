// One message to one subscription, or to all devices of a person, and what came of it.
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { SendOptions } from '../delivery/sender-interface.ts';
import type { SendResult } from '../delivery/sender.ts';
import { assertNotBlank } from '../protocol/message/assert-not-blank.ts';
import { encodeForReaders, isForReaders } from '../protocol/message/encode-payload.ts';
import type { Message } from '../protocol/message/message.ts';
import type { PushOptions } from '../protocol/request.ts';
import { requireSubscription, type StoredSubscription } from '../store/subscriptions.ts';
import type { Addressees } from '../operations/audience.ts';
import { sentMessageToJson } from '../operations/sent-message.ts';
import type { OperatorContext } from './context.ts';
import { readAddressedDevices } from './person-devices.ts';

/** What became of a message to each, as it is shown. */
export interface SentMessages {
  readonly items: readonly ReturnType<typeof sentMessageToJson>[];
  /** An attempt that got no answer may have reached its push service all the same. */
  readonly isInDoubt: boolean;
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
    isInDoubt: results.some((result) => result.status === 'fulfilled' && isInDoubt(result.value)),
  };
}

/** A message that depends on its reader is encoded for all of them before the first is sent. */
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

/** The message could not be sent to this one of several. */
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
