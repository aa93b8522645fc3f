// Which broadcasts an operator sees: one with the role `send` those that it made itself, everybody else all.
import { DeskbellError } from '../errors/deskbell-error.ts';
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
