// Faults to rehearse: what can go wrong at a push service, for whom, how often and for how long. This file decides
// which fault meets which request; carrying it out is `carry-out.ts`.
//
// A request meets every matching `delay` and `goaway`, and the first other fault that matches, in the order in
// which they were added.

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
  readonly endsAtMs: number;
  hits: number;
  /** Grows by the share with each request; a hit takes 1 away. */
  due: number;
}

/** @param now milliseconds */
export function createFaults(now: () => number): Faults & {
  /** @param streams how many requests this connection has brought, this one included */
  meet(endpoint: string, streams: number): Encounter;
} {
  let rules: Rule[] = [];
  let lastId = 0;

  const isOver = ({ fault, endsAtMs, hits }: Rule): boolean =>
    now() >= endsAtMs || (fault.times !== undefined && hits >= fault.times);

  const show = ({ id, fault, hits }: Rule): RehearsedFault => ({ id, fault, hits });

  function meets(rule: Rule, endpoint: string, streams: number): boolean {
    const { fault } = rule;
    if (fault.endpoint !== undefined && fault.endpoint !== endpoint) return false;
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
      const rule: Rule = {
        id: (lastId += 1),
        fault,
        endsAtMs: now() + (fault.forMs ?? Infinity),
        hits: 0,
        due: 0,
      };
      rules.push(rule);
      return show(rule);
    },

    list() {
      rules = rules.filter((rule) => !isOver(rule));
      return rules.map(show);
    },

    cancel(id) {
      const before = rules.length;
      rules = rules.filter((rule) => rule.id !== id);
      return rules.length < before;
    },

    clear() {
      rules = [];
    },

    meet(endpoint, streams) {
      let delayMs = 0;
      let goAway: Encounter['goAway'];
      let ending: EndingFault | undefined;
      for (const rule of rules) {
        const { fault } = rule;
        if (fault.kind !== 'delay' && fault.kind !== 'goaway' && ending !== undefined) continue;
        if (isOver(rule) || !meets(rule, endpoint, streams)) continue;
        if (fault.kind === 'delay') delayMs += fault.ms;
        else if (fault.kind === 'goaway') goAway = fault;
        else ending = fault;
      }
      return { delayMs, goAway, ending };
    },
  };
}

type Check = { readonly allowed: string; readonly isAllowed: (value: unknown) => boolean };

const integer = (least: number, most: number): Check => ({
  allowed: `an integer from ${least} to ${most}`,
  isAllowed: (value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most,
});
const text: Check = { allowed: 'a string', isAllowed: (value) => typeof value === 'string' };
const dayMs = 24 * 60 * 60 * 1000;

const scopeChecks: Record<keyof FaultScope, Check> = {
  times: integer(1, Number.MAX_SAFE_INTEGER),
  share: {
    allowed: 'a number over 0 and at most 1',
    isAllowed: (value) => typeof value === 'number' && value > 0 && value <= 1,
  },
  endpoint: text,
  forMs: integer(1, dayMs),
  afterAccepting: { allowed: 'true or false', isAllowed: (value) => typeof value === 'boolean' },
};

const kindChecks: Record<FaultKind['kind'], Record<string, Check>> = {
  status: {
    status: integer(200, 599),
    retryAfter: {
      allowed: 'seconds or an HTTP date',
      isAllowed: (value) => isHeaderValue(value) || integer(0, dayMs).isAllowed(value),
    },
    headers: {
      allowed: 'an object of header names and values',
      isAllowed: (value) =>
        typeof value === 'object' && value !== null && Object.entries(value).every(isHeader),
    },
    body: text,
  },
  delay: { ms: integer(0, dayMs) },
  hang: {},
  half: {},
  reset: {},
  'reset-stream': { code: integer(0, 0xffffffff) },
  goaway: { afterStreams: integer(1, Number.MAX_SAFE_INTEGER), code: integer(0, 0xffffffff) },
};

const required: Partial<Record<FaultKind['kind'], string>> = {
  status: 'status',
  delay: 'ms',
  goaway: 'afterStreams',
};

function isHeader([name, value]: [string, unknown]): boolean {
  return /^[!#$%&'*+.^`|~\w-]+$/.test(name) && isHeaderValue(value);
}

function isHeaderValue(value: unknown): boolean {
  return typeof value === 'string' && /^[\t\x20-\x7e]*$/.test(value);
}

/** Faults come from other processes as JSON too, so nothing is taken for granted. */
function checkFault(value: unknown): Fault {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError('a fault must be an object with the member "kind"');
  }
  const fault = value as Record<string, unknown>;
  const kinds = Object.keys(kindChecks);
  const kind = kinds.find((name) => name === fault['kind']) as FaultKind['kind'] | undefined;
  if (kind === undefined) throw new TypeError(`"kind" of a fault must be one of ${kinds.join(', ')}`);
  const { afterAccepting, ...scope } = scopeChecks;
  const canAccept = kind !== 'delay' && kind !== 'goaway' && kind !== 'half';
  const checks: Record<string, Check> = {
    ...scope,
    ...(canAccept ? { afterAccepting } : {}),
    ...kindChecks[kind],
  };
  for (const [name, member] of Object.entries(fault)) {
    if (name === 'kind' || member === undefined) continue;
    const check = checks[name];
    if (check === undefined) {
      throw new TypeError(`a fault "${kind}" has no "${name}"; it has ${Object.keys(checks).join(', ')}`);
    }
    if (!check.isAllowed(member)) throw new TypeError(`"${name}" of a fault must be ${check.allowed}`);
  }
  const missing = required[kind];
  if (missing !== undefined && fault[missing] === undefined) {
    throw new TypeError(`a fault "${kind}" needs "${missing}": ${checks[missing]?.allowed}`);
  }
  return value as Fault;
}
