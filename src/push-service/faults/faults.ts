// Faults to rehearse: what can go wrong at a push service, for whom, how often and for how long. This file decides
// which fault meets which request; carrying it out is `carry-out.ts`.
//
// A request meets every matching `delay` and `goaway`, and the first other fault that matches, in the order in
// which they were added.

import { tokenOf } from '../addresses.ts';
import { checkFault } from './fault-check.ts';

/** What goes wrong. */
export type FaultKind =
  /** Another answer than the right one. */
  | {
      readonly kind: 'status';
      readonly status: number;
      /** Seconds, or an HTTP date. */
      readonly retryAfter?: number | string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** The right answer, but late. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** No answer; the connection stays open. */
  | { readonly kind: 'hang' }
  /** Status, headers and half of the body of the right answer, then the stream (HTTP/2) or connection (HTTP/1.1) breaks. */
  | { readonly kind: 'half' }
  /** The connection is reset, with everything else on it. */
  | { readonly kind: 'reset' }
  /** HTTP/2: RST_STREAM with this error code, by default 7, REFUSED_STREAM. HTTP/1.1: as `reset`. */
  | { readonly kind: 'reset-stream'; readonly code?: number }
  /**
   * HTTP/2: from its n-th stream on, a connection is told GOAWAY; later streams are not processed. HTTP/1.1: the
   * n-th answer of a connection says `connection: close`. `code`: HTTP/2 error code, by default 0, NO_ERROR.
   */
  | { readonly kind: 'goaway'; readonly afterStreams: number; readonly code?: number };

/** Whom it meets; everything that is left out does not narrow it down. */
export interface FaultScope {
  /** The next n matching requests, then no more. */
  readonly times?: number;
  /** Every n-th matching request: 0.25 meets the 4th, 8th, 12th … */
  readonly share?: number;
  /** Requests to this endpoint only. */
  readonly endpoint?: string;
  /** For so long from now. */
  readonly forMs?: number;
  /**
   * The message is accepted and delivered before the fault, so that the sender is left in doubt. Without it the
   * message is not looked at. Only for `status`, `hang`, `reset` and `reset-stream`; `half` always accepts.
   */
  readonly afterAccepting?: boolean;
}

export type Fault = FaultKind & FaultScope;

export interface RehearsedFault {
  readonly id: number;
  readonly fault: Fault;
  /** Requests that have met it. */
  readonly hits: number;
}

/** What one request meets. */
export interface Encounter {
  readonly delayMs: number;
  readonly goAway: Extract<Fault, { kind: 'goaway' }> | undefined;
  readonly ending: EndingFault | undefined;
}

export type EndingFault = Exclude<Fault, { kind: 'delay' | 'goaway' }>;

export interface Faults {
  /**
   * Adds a fault; it holds until it is used up, its time is over, or it is cancelled.
   *
   * @throws {TypeError} the fault is not well-formed; the message names the member and what is allowed
   */
  rehearse(fault: Fault): RehearsedFault;
  list(): RehearsedFault[];
  /** False where there is no such fault, or no more. */
  cancel(id: number): boolean;
  clear(): void;
}

interface Rule {
  readonly id: number;
  readonly fault: Fault;
  /** Of the only subscription that it is for. */
  readonly token: string | undefined;
  readonly endsAtMs: number;
  hits: number;
  /** Grows by the share with each request; a hit takes 1 away. */
  due: number;
}

/** @param now milliseconds */
export function createFaults(now: () => number): Faults & {
  /** @param streams how many requests this connection has brought, this one included */
  meet(token: string, streams: number): Encounter;
} {
  let rules: Rule[] = [];
  let lastId = 0;

  const isOver = ({ fault, endsAtMs, hits }: Rule): boolean =>
    now() >= endsAtMs || (fault.times !== undefined && hits >= fault.times);

  const dropOver = (): void => {
    rules = rules.filter((rule) => !isOver(rule));
  };

  const show = ({ id, fault, hits }: Rule): RehearsedFault => ({ id, fault, hits });

  function meets(rule: Rule, token: string, streams: number): boolean {
    const { fault } = rule;
    if (rule.token !== undefined && rule.token !== token) return false;
    if (fault.kind === 'goaway' && streams < fault.afterStreams) return false;
    rule.due += fault.share ?? 1;
    if (rule.due < 1 - 1e-9) return false; // the sum of ten times 0.1 is a little under 1
    rule.due -= 1;
    rule.hits += 1;
    return true;
  }

  return {
    rehearse(given) {
      const fault = checkFault(given);
      dropOver();
      const rule: Rule = {
        id: (lastId += 1),
        fault,
        token: fault.endpoint === undefined ? undefined : tokenOf(fault.endpoint),
        endsAtMs: now() + (fault.forMs ?? Infinity),
        hits: 0,
        due: 0,
      };
      rules.push(rule);
      return show(rule);
    },

    list() {
      dropOver();
      return rules.map(show);
    },

    cancel(id) {
      dropOver();
      const before = rules.length;
      rules = rules.filter((rule) => rule.id !== id);
      return rules.length < before;
    },

    clear() {
      rules = [];
    },

    meet(token, streams) {
      let delayMs = 0;
      let goAway: Encounter['goAway'];
      let ending: EndingFault | undefined;
      for (const rule of rules) {
        const { fault } = rule;
        if (fault.kind !== 'delay' && fault.kind !== 'goaway' && ending !== undefined) continue;
        if (isOver(rule) || !meets(rule, token, streams)) continue;
        if (fault.kind === 'delay') delayMs += fault.ms;
        else if (fault.kind === 'goaway') goAway = fault;
        else ending = fault;
      }
      return { delayMs, goAway, ending };
    },
  };
}
