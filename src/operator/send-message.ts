// One message to one subscription, or to all devices of a person, and what came of it.
import type { SendResult, SubscriptionInput } from '../delivery/sender.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { Message } from '../protocol/message/message.ts';
import type { PushOptions } from '../protocol/request.ts';
import { checkUser } from '../store/check-people.ts';
import type { StoredSubscription } from '../store/subscriptions.ts';
import type { OperatorContext } from './context.ts';

/** Exactly one of them. */
export interface Addressees {
  /** Of a stored subscription. */
  readonly id?: number | undefined;
  /** All subscriptions of this person. */
  readonly user?: string | undefined;
  /** One that need not be stored. */
  readonly subscription?: SubscriptionInput | undefined;
}

export interface SentMessage {
  /** Absent for a subscription that was given with the request. */
  readonly id?: number | undefined;
  /** Origin. */
  readonly pushService: string;
  readonly outcome: string;
  /** HTTP status of the push service's answer. */
  readonly status?: number | undefined;
  readonly reason?: string | undefined;
  /** The push service's own words. */
  readonly detail?: string | undefined;
  /** When to try again. */
  readonly retryAfterSeconds?: number | undefined;
}

/** More would be a broadcast. */
const maxDevices = 100;

/** @throws {DeskbellError} before anything is sent: ERR_SUBSCRIPTION_NOT_FOUND, ERR_FIELD_VALUE, and what `Sender.send` throws */
export async function sendMessage(
  { store, sender }: OperatorContext,
  to: Addressees,
  message: Message,
  options: PushOptions,
): Promise<readonly SentMessage[]> {
  const { id, user, subscription } = to;
  if ([id, user, subscription].filter((one) => one !== undefined).length !== 1) {
    throw new DeskbellError('ERR_FIELD_VALUE', 'Give one of id, user and subscription in "to".');
  }
  if (subscription !== undefined) {
    const result = await sender.send(subscription, message, options);
    return [describe(undefined, subscription.endpoint, result)];
  }
  const rows = id === undefined ? await devicesOf(user!, store) : await stored(id, store);
  const results = await Promise.allSettled(rows.map((row) => sender.send(row, message, options)));
  const isAnySent = results.some(({ status }) => status === 'fulfilled');
  return rows.map(({ id: rowId, endpoint }, index) => {
    const result = results[index]!;
    if (result.status === 'fulfilled') return describe(rowId, endpoint, result.value);
    if (!isAnySent) throw result.reason;
    return describeFault(rowId, endpoint, result.reason);
  });
}

async function stored(
  id: number,
  { subscriptions }: OperatorContext['store'],
): Promise<readonly StoredSubscription[]> {
  const row = await subscriptions.findById(id);
  if (row !== undefined) return [row];
  throw new DeskbellError('ERR_SUBSCRIPTION_NOT_FOUND', `There is no subscription ${id}.`);
}

async function devicesOf(
  user: string,
  { subscriptions }: OperatorContext['store'],
): Promise<readonly StoredSubscription[]> {
  const matching = { user: checkUser(user, '/to/user') };
  const rows = await subscriptions.page({ afterId: 0, limit: maxDevices + 1, matching });
  if (rows.length === 0)
    throw new DeskbellError('ERR_SUBSCRIPTION_NOT_FOUND', 'The user has no subscription.');
  if (rows.length <= maxDevices) return rows;
  throw new DeskbellError(
    'ERR_FIELD_VALUE',
    `The user has more than ${maxDevices} subscriptions; make a broadcast to this user.`,
  );
}

/** The message could not be sent to this one of several. */
function describeFault(id: number, endpoint: string, fault: unknown): SentMessage {
  if (!(fault instanceof DeskbellError)) throw fault;
  return { id, pushService: new URL(endpoint).origin, outcome: 'rejected', detail: fault.message };
}

function describe(id: number | undefined, endpoint: string, { outcome, response }: SendResult): SentMessage {
  const { reason, detail, afterMs } = {
    reason: undefined,
    afterMs: undefined,
    detail: undefined,
    ...outcome,
  };
  return {
    id,
    pushService: new URL(endpoint).origin,
    outcome: outcome.kind,
    status: response?.status,
    reason,
    detail,
    retryAfterSeconds: afterMs === undefined ? undefined : Math.ceil(afterMs / 1000),
  };
}
