// Tells the store what push services answered to single messages. Nobody waits for it but whose subscription has ended: that is
// told at once, the rest is gathered for a second, since each write waits for the disk. What push services have asked senders to
// wait is told and learned with it. A process that is killed loses what is gathered.
//
// One commit is made at a time. While the database is slow or away, the answers are counted, and no more subscriptions are
// remembered than memory is to hold (`gathered-answers.ts`): the others will be gone, or accepted, with their next message too.
//
//   gathered → committing → stored, or tried again as the same commit, `maxTries` times
import { randomUUID } from 'node:crypto';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { AnswerCommit, Ledger } from '../../store/ledger.ts';
import type { Addressee, Destination, Destinations } from '../message-path/destinations.ts';
import type { Result } from '../message-path/post.ts';
import { GatheredAnswers, readAnswer } from './gathered-answers.ts';

const reportAfterMs = 1000;
/** So many are told before. */
const maxPending = 1000;
/** The store itself tries for 20 seconds each time, and knows a commit again for ten minutes. */
const maxTries = 5;

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

  /** @returns where the subscription has ended, when the store has it or has failed; otherwise nothing is waited for */
  add(subscription: Addressee, { origin, gate }: Destination, result: Result): Promise<void> | undefined {
    const answer = readAnswer(result);
    if (answer === undefined || result.kind !== 'posted') return undefined;
    gate.recordOutcome(result.outcome, undefined, 'suspend');
    this.#gathered.add(origin, answer, subscription);
    if (answer === 'gone') return this.#report();
    if (this.#gathered.answers >= maxPending && this.#failed === undefined) void this.#report();
    else this.#reportLater();
    return undefined;
  }

  async close(): Promise<void> {
    await this.#report();
    clearTimeout(this.#timer);
  }

  #reportLater(): void {
    this.#timer ??= setTimeout(() => void this.#report(), reportAfterMs).unref();
  }

  /** Commits what is gathered by now, after the commit that is being made. */
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

  /** A store that fails does not change what became of the messages. @returns whether it has not */
  async #commit(commit: AnswerCommit, tries: number): Promise<boolean> {
    try {
      this.#destinations.setStates(await this.#ledger.recordAnswers(commit));
      return true;
    } catch (error) {
      this.#onWarning(`The answers of push services could not be stored: ${String(error)}`);
      const mayPass = error instanceof DeskbellError && error.code === 'ERR_STORE_UNAVAILABLE';
      if (mayPass && tries + 1 < maxTries) this.#failed = { commit, tries: tries + 1 };
      // also what has come meanwhile
      this.#reportLater();
      return false;
    }
  }
}
