import type { Fault, FaultKind, FaultScope } from './fault.ts';

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

/** Checks a fault, which may be another process's JSON. @throws {TypeError} names the member and what is allowed */
export function checkFault(value: unknown): Fault {
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
