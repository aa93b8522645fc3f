// The optional limit on stored subscriptions. Rows that are there can always be updated. Rows are counted at every
// thousandth insert, since counting a million takes milliseconds: several processes may exceed the limit by a thousand each.
import {
  checkOptions,
  guardCallback,
  isFunction,
  isWholeNumber,
  type OptionCheck,
  type OptionChecks,
} from '../errors/check-options.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';

const insertsPerCount = 1000;
const countAgainAfterMs = 1000;
const warnAtShare = 0.9;

export interface SubscriptionLimit {
  readonly maxSubscriptions: number;
  /** Told when nine tenths of the limit are in use, and when the limit is reached. */
  readonly onWarning?: ((warning: string) => void) | undefined;
}

const limitChecks: OptionChecks<SubscriptionLimit> = {
  maxSubscriptions: isWholeNumber(0),
  onWarning: isFunction,
};

export const isSubscriptionLimit: OptionCheck = (value, name) =>
  checkOptions(value, limitChecks, { name, required: ['maxSubscriptions'] });

export class InsertBudget {
  readonly #limit: SubscriptionLimit;
  readonly #onWarning: (warning: string) => void;
  /** Rows that may still be inserted. */
  #capacity = 0;
  /** Inserts until the next count. */
  #inserts = 0;
  #countAgainAtMs = 0;
  #warned: 'no' | 'nearly' | 'full' = 'no';

  constructor(limit: SubscriptionLimit) {
    this.#limit = limit;
    this.#onWarning = guardCallback('subscriptionLimit.onWarning', (warning) => limit.onWarning?.(warning));
  }

  /** True if stored rows are to be counted before so many are inserted. */
  needsCount(inserts: number, nowMs: number): boolean {
    return this.#inserts < inserts && nowMs >= this.#countAgainAtMs;
  }

  setCount(rows: number, nowMs: number): void {
    const { maxSubscriptions } = this.#limit;
    this.#warn(rows);
    this.#capacity = Math.max(0, maxSubscriptions - rows);
    const rowsToWarning = Math.ceil(maxSubscriptions * warnAtShare) - rows;
    this.#inserts = Math.min(insertsPerCount, rowsToWarning > 0 ? rowsToWarning : this.#capacity);
    if (this.#capacity === 0) this.#countAgainAtMs = nowMs + countAgainAfterMs;
  }

  /** @throws {DeskbellError} ERR_SUBSCRIPTION_LIMIT if there is no room for so many rows */
  take(inserts: number): void {
    if (this.#capacity < inserts) {
      throw new DeskbellError(
        'ERR_SUBSCRIPTION_LIMIT',
        `The limit of ${this.#limit.maxSubscriptions} subscriptions is reached; those that are stored can still be updated.`,
      );
    }
    this.#capacity -= inserts;
    this.#inserts -= inserts;
  }

  #warn(rows: number): void {
    const { maxSubscriptions } = this.#limit;
    const state =
      rows >= maxSubscriptions ? 'full' : rows >= maxSubscriptions * warnAtShare ? 'nearly' : 'no';
    if (state === this.#warned) return;
    this.#warned = state;
    if (state === 'no') return;
    this.#onWarning(
      `${rows} of at most ${maxSubscriptions} subscriptions are stored` +
        (state === 'full' ? ': new ones are refused. Raise maxSubscriptions, or remove some.' : '.'),
    );
  }
}
