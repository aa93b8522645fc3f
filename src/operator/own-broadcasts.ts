// What an operator with the role `send` sees: of broadcasts those that it made itself, and nothing of what is known of people.
// Everybody else sees all.
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { Audience } from '../delivery/broadcast/audience.ts';
import { requireDefaults } from '../delivery/broadcast/reader-options.ts';
import type { DeliveryOptions } from '../store/delivery-options.ts';
import { encodeMessage } from '../protocol/message/encode-payload.ts';
import type { Message } from '../protocol/message/message.ts';
import type { Broadcast } from '../store/broadcasts.ts';
import type { Operator, OperatorStore } from '../store/operators.ts';
import type { Store } from '../store/store.ts';

type Asking = Operator | null;

/** Whose broadcasts alone are seen; `undefined` where all are. */
export const ownerIdOf = (operator: Asking): number | undefined =>
  operator?.role === 'send' ? operator.id : undefined;

/** @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND, also where it is not seen */
export async function getOwnBroadcast(
  { broadcasts, operators }: Pick<Store, 'broadcasts' | 'operators'>,
  id: number,
  operator: Asking,
): Promise<Broadcast> {
  const ownerId = ownerIdOf(operator);
  if (ownerId === undefined || (await operators.ownsBroadcast(id, ownerId))) return broadcasts.get(id);
  throw new DeskbellError('ERR_BROADCAST_NOT_FOUND', `There is no broadcast ${id}.`);
}

/** Makes a broadcast that one has created one's own. @throws {DeskbellError} ERR_IDEMPOTENCY_KEY where another has */
export async function claimBroadcast(
  operators: OperatorStore,
  { id, createdBy }: Pick<Broadcast, 'id' | 'createdBy'>,
  operator: Asking,
): Promise<void> {
  const ownerId = ownerIdOf(operator);
  if (ownerId === undefined) return;
  const isCreator =
    createdBy !== undefined && 'operator' in createdBy && createdBy.operator === operator?.name;
  if (isCreator && (await operators.claimBroadcast(id, ownerId))) return;
  throw new DeskbellError(
    'ERR_IDEMPOTENCY_KEY',
    'The idempotency key belongs to a broadcast of another operator.',
  );
}

/** Whether one of them is reached, and when, tells something of the person: a choice, a time zone, what others have sent. */
const optionsAboutPeople = ['channel', 'perPerson', 'skipInactive', 'localTime', 'quietHours'] as const;

/**
 * Refuses a broadcast whose numbers would tell an operator with the role `send` what is known of a person.
 *
 * @throws {DeskbellError} ERR_TOKEN_ROLE, ERR_PLACEHOLDER_VALUE
 */
export function assertTellsNothing(
  operator: Asking,
  audience: Audience,
  message: Message,
  options: DeliveryOptions,
): void {
  if (ownerIdOf(operator) === undefined || typeof audience === 'string' || !('user' in audience)) return;
  const told = optionsAboutPeople.find((name) => options[name] !== undefined);
  const withTexts = message.texts === undefined ? told : 'message.texts';
  const member = 'tags' in audience && audience.tags !== undefined ? 'audience.tags' : withTexts;
  if (member !== undefined) {
    throw new DeskbellError(
      'ERR_TOKEN_ROLE',
      `With the role "send", a broadcast to one person cannot have ${member}: who is reached would tell what is known of the person.`,
    );
  }
  assertSameForAll(operator, message);
}

/** With the role `send`, whether a message can be sent does not depend on a person's data. @throws {DeskbellError} ERR_PLACEHOLDER_VALUE */
export function assertSameForAll(operator: Asking, message: Message): void {
  if (ownerIdOf(operator) !== undefined) requireDefaults(encodeMessage(message).placeholders);
}

/** Which subscriptions a person has is not told to the role `send`. @param audience of a broadcast, or who is addressed */
export const tellsSubscriptions = (operator: Asking, audience: object | string | undefined): boolean =>
  ownerIdOf(operator) === undefined || typeof audience !== 'object' || !('user' in audience);

/**
 * Whether rows of a broadcast may be shown, which name subscriptions.
 *
 * @param user whose rows are asked for
 * @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND, ERR_TOKEN_ROLE
 */
export async function assertShowsRows(
  store: Pick<Store, 'broadcasts' | 'operators'>,
  id: number,
  operator: Asking,
  user?: string,
): Promise<void> {
  const { audience } = await getOwnBroadcast(store, id, operator);
  if (tellsSubscriptions(operator, user === undefined ? audience : { user })) return;
  throw new DeskbellError(
    'ERR_TOKEN_ROLE',
    'The role "send" is not shown which subscriptions a person has: ask for the broadcast itself, which has the numbers.',
  );
}
