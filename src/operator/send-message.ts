// One message to one subscription, or to all devices of a person, and what came of it.
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { Message } from '../protocol/message/message.ts';
import type { PushOptions } from '../protocol/request.ts';
import { requireSubscription } from '../store/subscriptions.ts';
import type { Addressees } from '../views/audience.ts';
import { sentMessageToJson } from '../views/sent-message.ts';
import type { OperatorContext } from './context.ts';
import { readDevices } from './devices-of-person.ts';

/**
 * @returns what became of the message to each, as it is shown
 * @throws {DeskbellError} before anything is sent: ERR_SUBSCRIPTION_NOT_FOUND, ERR_FIELD_VALUE, and what `Sender.send` throws
 */
export async function sendMessage(
  { store, sender }: OperatorContext,
  to: Addressees,
  message: Message,
  options: PushOptions,
): Promise<readonly object[]> {
  if ('subscription' in to) {
    const result = await sender.send(to.subscription, message, options);
    return [sentMessageToJson(undefined, to.subscription.endpoint, result)];
  }
  const rows =
    'user' in to
      ? await readDevices(to.user, store.subscriptions)
      : [requireSubscription(await store.subscriptions.findById(to.id), to.id)];
  const results = await Promise.allSettled(rows.map((row) => sender.send(row, message, options)));
  const isAnySent = results.some(({ status }) => status === 'fulfilled');
  return rows.map(({ id: rowId, endpoint }, index) => {
    const result = results[index]!;
    if (result.status === 'fulfilled') return sentMessageToJson(rowId, endpoint, result.value);
    if (!isAnySent) throw result.reason;
    return describeFault(rowId, endpoint, result.reason);
  });
}

/** The message could not be sent to this one of several. */
function describeFault(id: number, endpoint: string, fault: unknown): object {
  if (!(fault instanceof DeskbellError)) throw fault;
  return { id, pushService: new URL(endpoint).origin, outcome: 'rejected', detail: fault.message };
}
