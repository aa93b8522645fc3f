import { STATUS_CODES } from 'node:http';

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
