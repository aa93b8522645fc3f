// Which broadcasts an operator sees: one with the role `send` those that it made itself, everybody else all.
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { Broadcast } from '../store/broadcasts.ts';
import type { Operator } from '../store/operators.ts';
import type { Store } from '../store/store.ts';

type Asking = Operator | null;

export interface OwnBroadcasts {
  /** For a list; `undefined` where all are seen. */
  operatorId(operator: Asking): number | undefined;
  /** @throws {DeskbellError} ERR_BROADCAST_NOT_FOUND, also where it is not seen */
  get(id: number, operator: Asking): Promise<Broadcast>;
  /** Makes a broadcast that one has created one's own. @throws {DeskbellError} ERR_IDEMPOTENCY_KEY where another has */
  claim(broadcast: Pick<Broadcast, 'id' | 'createdBy'>, operator: Asking): Promise<void>;
}

const operatorId = (operator: Asking): number | undefined =>
  operator?.role === 'send' ? operator.id : undefined;

export function createOwnBroadcasts({
  broadcasts,
  operators,
}: Pick<Store, 'broadcasts' | 'operators'>): OwnBroadcasts {
  return {
    operatorId,
    get: async (id, operator) => {
      const ownerId = operatorId(operator);
      if (ownerId === undefined || (await operators.ownsBroadcast(id, ownerId))) return broadcasts.get(id);
      throw new DeskbellError('ERR_BROADCAST_NOT_FOUND', `There is no broadcast ${id}.`);
    },
    claim: async ({ id, createdBy = {} }, operator) => {
      const ownerId = operatorId(operator);
      if (ownerId === undefined) return;
      const isCreator = 'operator' in createdBy && createdBy.operator === operator?.name;
      if (isCreator && (await operators.claimBroadcast(id, ownerId))) return;
      throw new DeskbellError(
        'ERR_IDEMPOTENCY_KEY',
        'The idempotency key belongs to a broadcast of another operator.',
      );
    },
  };
}
