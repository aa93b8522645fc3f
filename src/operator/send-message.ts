// One message to one subscription, or to all devices of a person, and what came of it.
import type { SubscriptionInput } from '../delivery/sender.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { Message } from '../protocol/message/message.ts';
import type { PushOptions } from '../protocol/request.ts';
import { requireSubscription } from '../store/subscriptions.ts';
import { sentMessageToJson } from '../views/sent-message.ts';
import type { OperatorContext } from './context.ts';
import { readDevices } from './devices-of-person.ts';

/** Exactly one of them. */
export interface Addressees {
  /** Of a stored subscription. */
  readonly id?: number | undefined;
  /** All subscriptions of this person. */
  readonly user?: string | undefined;
  /** One that need not be stored. */
  readonly subscription?: SubscriptionInput | undefined;
}

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
  const { id, user, subscription } = to;
  if ([id, user, subscription].filter((one) => one !== undefined).length !== 1) {
    throw new DeskbellError('ERR_FIELD_VALUE', 'Give one of id, user and subscription in "to".');
  }
  if (subscription !== undefined) {
    const result = await sender.send(subscription, message, options);
    return [sentMessageToJson(undefined, subscription.endpoint, result)];
  }
  const rows =
    id === undefined
      ? await readDevices(user!, store.subscriptions)
      : [requireSubscription(await store.subscriptions.findById(id), id)];
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
