// The injected faults, and which of them apply to a request: all matching `delay` and `goaway`, and the first other
// fault that matches, in the order of injection.
import { tokenOf } from '../addresses.ts';
import { checkFault } from './check-fault.ts';
import type { EndingFault, Fault } from './fault.ts';

/** An active fault, and how often it has applied. */
export interface InjectedFault {
  readonly id: number;
  readonly fault: Fault;
  readonly hits: number;
}

export interface FaultPlan {
  readonly delayMs: number;
  readonly goAway: Extract<Fault, { kind: 'goaway' }> | undefined;
  readonly ending: EndingFault | undefined;
}

/** Makes the push service fail in chosen ways. */
export interface Faults {
  /**
   * Adds a fault; it applies until it is used up, its time is over, or it is cancelled.
   *
   * @throws {TypeError} the fault is malformed; the message names the member and what is allowed
   */
  inject(fault: Fault): InjectedFault;
  list(): InjectedFault[];
  /** Returns false if there is no such fault any more. */
  cancel(id: number): boolean;
  clear(): void;
}

interface Rule {
  readonly id: number;
  readonly fault: Fault;
  readonly token: string | undefined;
  readonly endsAtMs: number;
  hits: number;
  /** Grows by the share with each request; a hit takes 1 away. */
  due: number;
}

export function createFaults(now: () => number): Faults & {
  /** @param streams number of requests on this connection, including this one */
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
    if (rule.due < 1 - 1e-9) return false; // ten times 0.1 adds up to slightly less than 1
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
        // first, since there may be a fault for each of many subscriptions
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
