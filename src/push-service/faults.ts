// Faults that can be injected into the push service: types, checks, when a fault applies, and what it does.
import { STATUS_CODES } from 'node:http';
import { tokenOf } from './addresses.ts';
import { type Answer, type Exchange, jsonAnswer } from './http/exchange.ts';

/** What the local push service does wrong when a fault applies to a request. */
export type FaultKind =
  | {
      readonly kind: 'status';
      readonly status: number;
      /** Seconds or an HTTP date. */
      readonly retryAfter?: number | string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** The correct response, but late. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** No response, although the connection stays open. */
  | { readonly kind: 'hang' }
  /**
   * Sends status, headers and half of the body of the correct response, then breaks the stream (HTTP/2) or the
   * connection (HTTP/1.1).
   */
  | { readonly kind: 'half' }
  /** Resets the connection, with all its requests. */
  | { readonly kind: 'reset' }
  /** HTTP/2: RST_STREAM with this error code. Default: 7, REFUSED_STREAM. HTTP/1.1: the same as `reset`. */
  | { readonly kind: 'reset-stream'; readonly code?: number }
  /**
   * HTTP/2: sends GOAWAY at the n-th stream of a connection; later streams are not processed. HTTP/1.1: the n-th
   * response of a connection says `connection: close`. `code`: HTTP/2 error code. Default: 0, NO_ERROR.
   */
  | { readonly kind: 'goaway'; readonly afterStreams: number; readonly code?: number };

/** Selects the requests to which a fault applies. Fields that are left out do not limit the selection. */
export interface FaultScope {
  /** Only the next n matching requests. */
  readonly times?: number;
  /** The fault applies to this share of the matching requests: 0.25 means the 4th, 8th, 12th … */
  readonly share?: number;
  /** Only requests to this endpoint. */
  readonly endpoint?: string;
  /** How long the fault applies, in milliseconds from now. Default: for ever. */
  readonly forMs?: number;
  /**
   * If true, the push service accepts and delivers the message before the fault, so the sender does not know whether it
   * was delivered. By default, the push service does not even read the message. Only `status`, `hang`, `reset` and
   * `reset-stream` may have this field. With `half`, the push service always accepts the message.
   */
  readonly afterAccepting?: boolean;
}

/** A fault, and the requests to which it applies. */
export type Fault = FaultKind & FaultScope;

type EndingFault = Exclude<Fault, { kind: 'delay' | 'goaway' }>;

/** An active fault, and how many times it was applied. */
export interface InjectedFault {
  readonly id: number;
  readonly fault: Fault;
  readonly hits: number;
}

interface FaultPlan {
  readonly delayMs: number;
  readonly goAway: Extract<Fault, { kind: 'goaway' }> | undefined;
  readonly ending: EndingFault | undefined;
}

/** Makes the push service fail on purpose. */
export interface Faults {
  /**
   * Adds a fault. It applies until it is used up, its time is over, or it is cancelled.
   *
   * @throws {TypeError} if the fault is malformed; the message contains the field's name and what is allowed
   */
  inject(fault: Fault): InjectedFault;
  list(): InjectedFault[];
  /** Returns false if the fault does not exist or has ended. */
  cancel(id: number): boolean;
  clear(): void;
}

interface Rule {
  readonly id: number;
  readonly fault: Fault;
  readonly token: string | undefined;
  readonly endsAtMs: number;
  hits: number;
  /** Grows by `share` with each matching request, and shrinks by 1 each time the fault applies. */
  due: number;
}

export function createFaults(now: () => number): Faults & {
  /** @param streams number of requests on this connection so far, including this one */
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
        // check the token first, to skip quickly the many faults that may be set for other subscriptions
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

type Check = { readonly allowed: string; readonly isAllowed: (value: unknown) => boolean };

const integer = (min: number, max: number): Check => ({
  allowed: `an integer from ${min} to ${max}`,
  isAllowed: (value) => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max,
});
const text: Check = { allowed: 'a string', isAllowed: (value) => typeof value === 'string' };
const dayMs = 24 * 60 * 60 * 1000;

const scopeChecks: Record<keyof FaultScope, Check> = {
  times: integer(1, Number.MAX_SAFE_INTEGER),
  share: {
    allowed: 'a number over 0 and at most 1',
    isAllowed: (value) => typeof value === 'number' && value > 0 && value <= 1,
  },
  endpoint: {
    allowed: 'an endpoint of this push service',
    isAllowed: (value) => typeof value === 'string' && /\/wpush\/[\w-]+$/.test(value),
  },
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

/**
 * Checks the description of a fault, which may be JSON from another process.
 *
 * @throws {TypeError} naming the wrong member and the allowed values
 */
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

/** @param push processes the message normally and returns the response */
export function applyFault(fault: EndingFault, exchange: Exchange, push: () => Answer): void {
  if (fault.afterAccepting === true) push();
  switch (fault.kind) {
    case 'status':
      exchange.send(injectedAnswer(fault));
      break;
    case 'half':
      exchange.sendHalf(push());
      break;
    case 'reset':
      exchange.connection.reset();
      break;
    case 'reset-stream':
      exchange.resetStream(fault.code ?? 7); // REFUSED_STREAM
      break;
    case 'hang':
      break; // the exchange ends when either side closes the connection
  }
}

function injectedAnswer(fault: Extract<EndingFault, { kind: 'status' }>): Answer {
  const { status, retryAfter, headers, body } = fault;
  const retryHeader = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
  const further = { ...retryHeader, ...headers };
  if (body !== undefined) return { status, headers: further, body };
  const message = 'injected fault';
  return jsonAnswer(status, { code: status, errno: null, error: STATUS_CODES[status], message }, further);
}
