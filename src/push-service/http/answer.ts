// Answers, refusals, and header fields of requests.
import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http';

const hostAndPort = /^(?:[\w.~!$&'()*+,;=%-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

interface HostedRequest {
  readonly httpVersion: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
}

/** @returns what is wrong with the host, or `undefined` */
export function findHostFault(request: HostedRequest): string | undefined {
  const host = hostOf(request);
  if (host === undefined) return request.httpVersion === '1.0' ? undefined : 'the request has no Host header';
  if (!hostAndPort.test(host)) return 'the Host header is not a host with an optional port';
  const count = countHostHeaders(request.rawHeaders);
  return count > 1 ? `the request has ${count} Host headers; exactly one is allowed` : undefined;
}

function countHostHeaders(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

export function hostOf({ headers }: Pick<HostedRequest, 'headers'>): string | undefined {
  return (headers[':authority'] as string | undefined) ?? headers.host;
}

/** True for this machine's names and addresses, with any port. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i.test(host);
}

/** Reads `name=value; name="value"` of `Authorization`, `Crypto-Key` and `Encryption`; names become lower case. */
export function readParameters(text: string, separator: string | RegExp): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const part of text.split(separator)) {
    const [, name, quoted, bare] = /^\s*([^\s=]+)\s*=\s*(?:"([^"]*)"|(\S+))\s*$/.exec(part) ?? [];
    if (name !== undefined) parameters.set(name.toLowerCase(), quoted ?? bare ?? '');
  }
  return parameters;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function jsonAnswer(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: `${JSON.stringify(value)}\n`,
  };
}

export function emptyAnswer(status: number, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers, body: '' };
}

// Refusals have the status and errno of Mozilla's autopush, so that code that reads them can be tested.

/** [HTTP status, errno], with `null` if autopush has no number. */
const refusals = {
  endpointUnknown: [404, 102],
  endpointGone: [410, 106],
  bodyTooLarge: [413, 104],
  // RFC 8292 §4.2: 401 for missing credentials, 403 for invalid ones
  authorizationMissing: [401, 109],
  authorizationInvalid: [403, 109],
  encryptionInvalid: [400, 110],
  ttlMissing: [400, 111],
  ttlInvalid: [400, 112],
  topicInvalid: [400, 113],
  urgencyInvalid: [400, null],
  subscriptionFull: [429, 201],
  serviceFull: [503, 201],
  hostInvalid: [400, null],
  routeUnknown: [404, null],
  methodNotAllowed: [405, null],
  messageUnknown: [404, null],
  controlForbidden: [403, null],
  controlInvalid: [400, null],
} as const satisfies Record<string, readonly [number, number | null]>;

/** A refusal with the JSON body `{code, errno, error, message}`. */
export function refusal(
  reason: keyof typeof refusals,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const [code, errno] = refusals[reason];
  return jsonAnswer(code, { code, errno, error: STATUS_CODES[code], message }, headers);
}
