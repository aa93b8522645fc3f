// Stores the responses of push services to single messages. The end of a subscription is stored at once, and the sender
// waits for the write. Other responses are gathered for a second, because each write waits for the disk. Each commit
// also stores and reads how long push services have asked to wait. One commit is made at a time. If the process is
// killed, gathered responses are lost. While the database is slow or unavailable, responses are counted, and the ends
// of a limited number of subscriptions are remembered. Other ends are found again with the next message.
//
//   gathered → committing → stored, or retried as the same commit, `maxTries` times
import { randomUUID } from 'node:crypto';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { isVapidRefusal, type Outcome } from '../../protocol/outcome.ts';
import type { Subscription } from '../../protocol/subscription.ts';
import type { AnswerCommit, Ledger, SingleAnswers } from '../../store/ledger.ts';
import type { Addressee, Destination, Destinations } from '../message-path/destinations.ts';
import type { Result } from '../message-path/message-path.ts';

const reportAfterMs = 1000;
/** Number of waiting responses at which they are stored early. */
const maxPending = 1000;
/** The store itself retries for 20 seconds each time, and recognizes a repeated commit for ten minutes. */
const maxTries = 5;
/** `close` waits at most this long for commits, so that a process can end even if its database cannot be reached. */
const closeWithinMs = 5000;

export class AnswerLog {
  readonly #ledger: Pick<Ledger, 'recordAnswers'>;
  readonly #destinations: Pick<Destinations, 'takeAnswers' | 'setStates'>;
  readonly #onWarning: (warning: string) => void;
  #gathered = new GatheredAnswers();
  #failed: { readonly commit: AnswerCommit; readonly tries: number } | undefined;
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    ledger: Pick<Ledger, 'recordAnswers'>,
    destinations: Pick<Destinations, 'takeAnswers' | 'setStates'>,
    onWarning: (warning: string) => void,
  ) {
    this.#ledger = ledger;
    this.#destinations = destinations;
    this.#onWarning = onWarning;
  }

  /** @returns a promise if the subscription has ended. The promise resolves after an attempt to store this */
  add(subscription: Addressee, { origin, gate }: Destination, result: Result): Promise<void> | undefined {
    if (result.kind !== 'response') return undefined;
    const answer = readAnswer(result.outcome);
    gate.recordOutcome(result.outcome, undefined, 'suspend');
    this.#gathered.add(origin, answer, subscription);
    if (answer === 'gone') return this.#report();
    if (this.#gathered.answers >= maxPending && this.#failed === undefined) void this.#report();
    else this.#reportLater();
    return undefined;
  }

  async close(): Promise<void> {
    const untilMs = performance.now() + closeWithinMs;
    const { promise: isLate, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, closeWithinMs);
    do await Promise.race([this.#report(), isLate]);
    while (this.#timer !== undefined && performance.now() < untilMs);
    clearTimeout(timer);
    clearTimeout(this.#timer);
  }

  #reportLater(): void {
    this.#timer ??= setTimeout(() => void this.#report(), reportAfterMs).unref();
  }

  /** Waits for the commit in progress, then commits everything gathered so far. */
  #report(): Promise<void> {
    return (this.#next ??= this.#current.then(() => {
      this.#next = undefined;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#current = this.#commitAll();
      return this.#current;
    }));
  }

  async #commitAll(): Promise<void> {
    const failed = this.#failed;
    this.#failed = undefined;
    if (failed !== undefined && !(await this.#commit(failed.commit, failed.tries))) return;
    const commit = this.#take();
    if (commit !== undefined) await this.#commit(commit, 0);
  }

  #take(): AnswerCommit | undefined {
    const answers = this.#destinations.takeAnswers();
    const gathered = this.#gathered;
    if (gathered.answers + answers.length === 0) return undefined;
    this.#gathered = new GatheredAnswers();
    return { id: randomUUID(), origins: gathered.origins(), answers };
  }

  /** Commits responses. A failure does not change the results of messages. @returns whether the commit succeeded */
  async #commit(commit: AnswerCommit, tries: number): Promise<boolean> {
    try {
      this.#destinations.setStates(await this.#ledger.recordAnswers(commit));
      return true;
    } catch (error) {
      this.#onWarning(`The answers of push services could not be stored: ${String(error)}`);
      const mayPass = error instanceof DeskbellError && error.code === 'ERR_STORE_UNAVAILABLE';
      if (mayPass && tries + 1 < maxTries) this.#failed = { commit, tries: tries + 1 };
      // responses may have arrived in the meantime
      this.#reportLater();
      return false;
    }
  }
}

// Responses to single messages that are not stored yet: counts, and a limited number of subscriptions.

/** `refused`: our token or key was refused. `other`: any other response from the push service. */
export type SingleAnswer = 'accepted' | 'gone' | 'refused' | 'other';

/** Maximum number of gone or accepted subscriptions to remember. Beyond this, responses are only counted. */
export const maxRemembered = 10_000;
/** Responses from more hosts are dropped. Strangers can register endpoints at any number of hosts. */
const maxOrigins = 1024;

type Tally = Record<SingleAnswer, number> & {
  /**
   * The latest answers by endpoint. The value is the subscription if it is gone, and `undefined` if the push service
   * accepted a later message.
   */
  readonly latest: Map<string, Subscription | undefined>;
};

export class GatheredAnswers {
  readonly #tallies = new Map<string, Tally>();
  #remembered = 0;
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
    // only the last response for a subscription counts
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

function readAnswer(outcome: Outcome): SingleAnswer {
  if (outcome.kind === 'accepted' || outcome.kind === 'gone') return outcome.kind;
  return isVapidRefusal(outcome) ? 'refused' : 'other';
}
