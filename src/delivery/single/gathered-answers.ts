// What push services have answered to single messages and the store does not know yet: counts, and a bounded number of
// subscriptions.
import type { SingleAnswers } from '../../store/ledger.ts';
import type { Subscription } from '../../protocol/subscription.ts';
import type { Result } from '../message-path/post.ts';

/** `refused`: our token or key. `other`: anything else that the push service itself answered. */
export type SingleAnswer = 'accepted' | 'gone' | 'refused' | 'other';

/** Subscriptions that are gone or were accepted; of more, the answers are counted only. */
export const maxRemembered = 10_000;
/** Strangers can register endpoints at any number of hosts: what more of them answer is forgotten. */
const maxOrigins = 1024;

type Tally = Record<SingleAnswer, number> & {
  /** By endpoint: the subscription if it is gone, `undefined` if it was accepted since. */
  readonly latest: Map<string, Subscription | undefined>;
};

export class GatheredAnswers {
  readonly #tallies = new Map<string, Tally>();
  #remembered = 0;
  /** How many there are. */
  answers = 0;

  add(origin: string, answer: SingleAnswer, subscription: Subscription): void {
    const tally = this.#tallyOf(origin);
    this.answers += 1;
    tally[answer] += 1;
    if (answer !== 'gone' && answer !== 'accepted') return;
    const { latest } = tally;
    const { endpoint } = subscription;
    if (!latest.has(endpoint)) {
      if (this.#remembered >= maxRemembered) return;
      this.#remembered += 1;
    }
    // of several answers for one subscription the last one counts
    latest.set(endpoint, answer === 'gone' ? subscription : undefined);
  }

  origins(): readonly SingleAnswers[] {
    return Array.from(this.#tallies, ([origin, { latest, ...counts }]) => ({
      origin,
      ...counts,
      goneSubscriptions: [...latest.values()].filter((subscription) => subscription !== undefined),
      acceptedEndpoints: [...latest].flatMap(([endpoint, gone]) => (gone === undefined ? [endpoint] : [])),
    }));
  }

  #tallyOf(origin: string): Tally {
    let tally = this.#tallies.get(origin);
    if (tally === undefined) {
      tally = { accepted: 0, gone: 0, refused: 0, other: 0, latest: new Map() };
      if (this.#tallies.size < maxOrigins) this.#tallies.set(origin, tally);
    }
    return tally;
  }
}

/** @returns `undefined` where no push service answered */
export function readAnswer(result: Result): SingleAnswer | undefined {
  if (result.kind !== 'posted' || result.response === undefined) return undefined;
  const { outcome } = result;
  if (outcome.kind === 'accepted' || outcome.kind === 'gone') return outcome.kind;
  return outcome.kind === 'rejected' && outcome.reason === 'vapid-refused' ? 'refused' : 'other';
}
