// The injected faults, and which of them apply to a request; apply-fault.ts applies them.
//
// To a request apply all matching `delay` and `goaway`, and the first other fault that matches, in the order in which
// they were injected.
import { tokenOf } from '../addresses.ts';
import { checkFault } from './check-fault.ts';
import type { EndingFault, Fault } from './fault.ts';

/** A fault that holds, and how often it has applied. */
export interface InjectedFault {
  readonly id: number;
  readonly fault: Fault;
  /** Requests that it applied to. */
  readonly hits: number;
}

/** What applies to one request. */
export interface FaultPlan {
  readonly delayMs: number;
  readonly goAway: Extract<Fault, { kind: 'goaway' }> | undefined;
  readonly ending: EndingFault | undefined;
}

/** Makes the push service fail in chosen ways. */
export interface Faults {
  /**
   * Adds a fault; it holds until it is used up, its time is over, or it is cancelled.
   *
   * @throws {TypeError} the fault is not well-formed; the message names the member and what is allowed
   */
  inject(fault: Fault): InjectedFault;
  list(): InjectedFault[];
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
  match(token: string, streams: number): FaultPlan;
} {
  let rules: Rule[] = [];
  let lastId = 0;

  const isOver = ({ fault, endsAtMs, hits }: Rule): boolean =>
    now() >= endsAtMs || (fault.times !== undefined && hits >= fault.times);

  const dropOver = (): void => {
    rules = rules.filter((rule) => !isOver(rule));
  };

  const show = ({ id, fault, hits }: Rule): InjectedFault => ({ id, fault, hits });

  function applies(rule: Rule, streams: number): boolean {
    const { fault } = rule;
    if (fault.kind === 'goaway' && streams < fault.afterStreams) return false;
    rule.due += fault.share ?? 1;
    if (rule.due < 1 - 1e-9) return false; // the sum of ten times 0.1 is a little under 1
    rule.due -= 1;
    rule.hits += 1;
    return true;
  }

  return {
    inject(given) {
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

    match(token, streams) {
      let delayMs = 0;
      let goAway: FaultPlan['goAway'];
      let ending: EndingFault | undefined;
      for (const rule of rules) {
        // first, since there may be one for each of many subscriptions
        if (rule.token !== undefined && rule.token !== token) continue;
        const { fault } = rule;
        if (fault.kind !== 'delay' && fault.kind !== 'goaway' && ending !== undefined) continue;
        if (isOver(rule) || !applies(rule, streams)) continue;
        if (fault.kind === 'delay') delayMs += fault.ms;
        else if (fault.kind === 'goaway') goAway = fault;
        else ending = fault;
      }
      return { delayMs, goAway, ending };
    },
  };
}
