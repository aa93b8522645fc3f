// The optional limit on stored subscriptions. Rows that are there can always be updated. Rows are counted at every
// thousandth insert, since counting a million takes milliseconds: several processes may exceed the limit by a thousand each.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { SqliteDatabase } from './sqlite-database.ts';
import type { NoValues } from './statement.ts';

const insertsPerCount = 1000;
const countAgainAfterMs = 1000;
const warnAtShare = 0.9;

export interface SubscriptionLimit {
  readonly maxSubscriptions: number;
  /** Told when nine tenths of the limit are in use, and when the limit is reached. */
  readonly onWarning?: ((warning: string) => void) | undefined;
}

/**
 * @returns to be called inside a transaction before a row is inserted; throws ERR_SUBSCRIPTION_LIMIT where there is no
 *   room for it
 */
export function createInsertGuard(
  database: SqliteDatabase,
  { maxSubscriptions, onWarning }: SubscriptionLimit,
): () => void {
  const count = database.prepare<NoValues, { rows: number }>(
    'select coalesce(sum(subscriptions), 0) as rows from vapid_keys',
  );
  /** Inserts until the next count. */
  let budget = 0;
  let countAgainAtMs = 0;
  let warned: 'no' | 'nearly' | 'full' = 'no';

  const warn = (rows: number): void => {
    const state =
      rows >= maxSubscriptions ? 'full' : rows >= maxSubscriptions * warnAtShare ? 'nearly' : 'no';
    if (state === warned) return;
    warned = state;
    if (state === 'no') return;
    onWarning?.(
      `${rows} of at most ${maxSubscriptions} subscriptions are stored` +
        (state === 'full' ? ': new ones are refused. Raise maxSubscriptions, or remove some.' : '.'),
    );
  };

  return () => {
    const nowMs = database.now();
    if (budget === 0 && nowMs >= countAgainAtMs) {
      const rows = count.first({})?.rows ?? 0;
      warn(rows);
      budget = Math.min(insertsPerCount, Math.max(0, maxSubscriptions - rows));
      if (budget === 0) countAgainAtMs = nowMs + countAgainAfterMs;
    }
    if (budget === 0) {
      throw new DeskbellError(
        'ERR_SUBSCRIPTION_LIMIT',
        `The limit of ${maxSubscriptions} subscriptions is reached; those that are stored can still be updated.`,
      );
    }
    budget -= 1;
  };
}
