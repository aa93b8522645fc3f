// Tells the store what push services answered to single messages. A subscription that has ended is told of at once; the
// others are gathered for a second, since each write waits for the disk. What push services have asked senders to wait is told
// and learned with them.
import type { Ledger, SingleAnswer } from '../../store/ledger.ts';
import type { Addressee, Destination, Destinations } from '../message-path/destinations.ts';
import type { Result } from '../message-path/post.ts';

const reportAfterMs = 1000;
const maxPending = 1000;

export class AnswerLog {
  readonly #ledger: Ledger;
  readonly #destinations: Destinations;
  readonly #onWarning: (warning: string) => void;
  #pending: SingleAnswer[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(ledger: Ledger, destinations: Destinations, onWarning: (warning: string) => void) {
    this.#ledger = ledger;
    this.#destinations = destinations;
    this.#onWarning = onWarning;
  }

  /** Resolves when the store has it, where the subscription has ended, otherwise at once. */
  async add(subscription: Addressee, { origin, vapidPublicKey }: Destination, result: Result): Promise<void> {
    const answer = readAnswer(result);
    if (answer === undefined) return;
    this.#pending.push({ subscription, origin, vapidPublicKey, answer });
    if (answer === 'gone' || this.#pending.length >= maxPending) await this.#report();
    else this.#timer ??= setTimeout(() => void this.#report(), reportAfterMs).unref();
  }

  close(): Promise<void> {
    return this.#report();
  }

  /** A store that fails does not change what became of the message. */
  async #report(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pending.length === 0) return;
    const waits = new Map(this.#destinations.takeAnswers().map(({ origin, waitMs }) => [origin, waitMs]));
    const answers = this.#pending.map((answer) => {
      const waitMs = waits.get(answer.origin);
      waits.delete(answer.origin);
      return { ...answer, waitMs };
    });
    this.#pending = [];
    const results = await Promise.allSettled([
      ...answers.map((answer) => this.#ledger.recordAnswer(answer)),
      this.#ledger.pushServices().then(this.#destinations.setStates),
    ]);
    const failed = results.find(({ status }) => status === 'rejected');
    if (failed?.status !== 'rejected') return;
    this.#onWarning(`The answers of push services could not be stored: ${String(failed.reason)}`);
  }
}

/** @returns `undefined` where no push service answered */
function readAnswer(result: Result): SingleAnswer['answer'] | undefined {
  if (result.kind !== 'posted' || result.response === undefined) return undefined;
  const { outcome } = result;
  if (outcome.kind === 'accepted' || outcome.kind === 'gone') return outcome.kind;
  return outcome.kind === 'rejected' && outcome.reason === 'vapid-refused' ? 'refused' : 'other';
}
