// Every fault that Deskbell names, in one table: what the service answers, whether a retry can help, what it
// is called, and what to do about it. docs/errors.md is generated from this file.

export interface CatalogueEntry {
  /** Status of the HTTP answer when the fault reaches a client of the public service. */
  readonly status: number;
  readonly isRetryable: boolean;
  /** Short human wording, the same for every occurrence (RFC 9457 `title`). */
  readonly title: string;
  /** What whoever sees it can do. */
  readonly remedy: string;
}

const entry = (status: number, title: string, remedy: string, isRetryable = false): CatalogueEntry => ({
  status,
  isRetryable,
  title,
  remedy,
});

export const catalogue = {
  ERR_SUBSCRIPTION_INVALID: entry(
    400,
    'The subscription is not valid',
    'Mend the fields named in "errors" and send it again.',
  ),
  ERR_FIELD_MISSING: entry(400, 'A required field is missing', 'Add the field.'),
  ERR_FIELD_TYPE: entry(
    400,
    'A field has the wrong type',
    'Send the type that the description document names.',
  ),
  ERR_FIELD_VALUE: entry(
    400,
    'A field has a value that is not allowed',
    'Send a value that the description document allows.',
  ),
  ERR_ENDPOINT_INVALID: entry(
    400,
    'The endpoint is not a usable URL',
    'Send the endpoint exactly as the browser gave it.',
  ),
  ERR_ENDPOINT_TOO_LONG: entry(400, 'The endpoint is too long', 'Endpoints have at most 4096 characters.'),
  ERR_ENDPOINT_HOST_REFUSED: entry(
    400,
    'The endpoint does not belong to a known push service',
    'If the push service is yours, add its origin to the configuration entry "pushServices".',
  ),
  ERR_BASE64_INVALID: entry(
    400,
    'A field is not base64',
    'Send standard or URL-safe base64, padded or not, without white space.',
  ),
  ERR_SUBSCRIPTION_KEY_INVALID: entry(
    400,
    'The p256dh or auth of a subscription is not usable',
    'Send p256dh (65-byte P-256 point) and auth (16 bytes) as the browser gave them.',
  ),
  ERR_JSON_MALFORMED: entry(400, 'The body is not JSON', 'Send well-formed JSON in UTF-8.'),
  ERR_CONTENT_TYPE: entry(415, 'The content type is not supported', 'Send content-type: application/json.'),
  ERR_BODY_TOO_LARGE: entry(413, 'The body is too large', 'Send a smaller body.'),
  ERR_ROUTE_UNKNOWN: entry(404, 'There is nothing at this path', 'See /openapi.json for what there is.'),
  ERR_METHOD_NOT_ALLOWED: entry(
    405,
    'The method is not allowed here',
    'Use a method named in the "allow" header.',
  ),
  ERR_REQUEST_TIMEOUT: entry(408, 'The request took too long to arrive', 'Send the request faster.', true),
  ERR_HEADERS_TOO_LARGE: entry(
    431,
    'The request line and headers are too large',
    'Send a shorter URL or fewer headers.',
  ),
  ERR_RATE_LIMITED: entry(429, 'Too many requests', 'Wait as long as the "retry-after" header says.', true),
  ERR_UNAUTHENTICATED: entry(401, 'No session', 'Send the session cookie.'),
  ERR_FORBIDDEN: entry(403, 'Refused', 'This session may not do this.'),
  ERR_CSRF: entry(
    403,
    'The CSRF token is missing or not valid',
    'Send a valid token in the Csrf-Token header.',
  ),
  ERR_USER_ID_INVALID: entry(400, 'The user id is not valid', 'Send a decimal int64.'),
  ERR_USER_NOT_FOUND: entry(404, 'There is no such user', 'Use the id of an existing user.'),
  ERR_REQUEST_INVALID: entry(400, 'The request is not valid', 'See /openapi.json for what is expected.'),
  ERR_INTERNAL: entry(
    500,
    'Something went wrong on the server',
    'Try again later; the server log says more.',
    true,
  ),
  ERR_NOT_READY: entry(503, 'The store cannot be reached', 'Try again later.', true),
  ERR_PAYLOAD_TOO_LARGE: entry(
    413,
    'The payload is too large for one push message',
    'Keep the payload within 3993 bytes of UTF-8.',
  ),
  ERR_MESSAGE_INVALID: entry(
    400,
    'The push message or one of its options is not valid',
    'Mend the option named in the message.',
  ),
  ERR_DECRYPTION_FAILED: entry(
    500,
    'The push message cannot be decrypted',
    'Decrypt the body as it was posted, with the keys of the subscription that it was posted to.',
  ),
  ERR_VAPID_KEY_INVALID: entry(
    500,
    'The VAPID key pair is not usable',
    'Give both halves of one P-256 pair as unpadded base64url.',
  ),
  ERR_VAPID_SUBJECT_INVALID: entry(
    500,
    'The VAPID subject is not usable',
    'Give a mailto: or https: URI that reaches you, not localhost.',
  ),
  ERR_KEY_FILE_MISSING: entry(
    500,
    'The key file is missing',
    'Restore it from a backup; a new pair would lose every subscriber.',
  ),
  ERR_KEY_FILE_CORRUPT: entry(
    500,
    'The key file cannot be read',
    'Restore it from a backup; a new pair would lose every subscriber.',
  ),
  ERR_KEY_FILE_EXISTS: entry(
    500,
    'There is a key pair already',
    'Keep it; --force replaces it and loses every subscriber.',
  ),
  ERR_KEY_FILE_EXPOSED: entry(
    500,
    'The key file can be read by others',
    "Take the others' rights away (chmod 600), and ask who may have read it.",
  ),
  ERR_STORE_UNAVAILABLE: entry(
    503,
    'The store does not answer',
    'Check the disk and the data directory.',
    true,
  ),
  ERR_STORE_CORRUPT: entry(
    500,
    'The database is damaged or from another program',
    'Restore it from a backup.',
  ),
  ERR_STORE_TOO_NEW: entry(
    500,
    'The database was made by a newer Deskbell',
    'Update Deskbell, or use another data directory.',
  ),
  ERR_CONFIGURATION: entry(500, 'The configuration is not valid', 'Mend the entry named in the message.'),
  ERR_USAGE: entry(500, 'The command was not used as its help says', 'See --help.'),
  ERR_FILE: entry(500, 'A file or folder cannot be used', 'Check the path, its permissions and the disk.'),
  ERR_LISTEN: entry(
    500,
    'The address cannot be listened on',
    'Name another --port (0 picks a free one) or --host.',
  ),
  ERR_DATA_MISSING: entry(
    500,
    'The data directory does not exist',
    'Name another --data, or make it with `deskbell serve` or `deskbell keys generate`.',
  ),
  ERR_SUBSCRIPTION_NOT_FOUND: entry(
    404,
    'There is no such subscription',
    'See `deskbell subscriptions list`.',
  ),
  ERR_NOT_ACCEPTED: entry(
    502,
    'The push service did not accept a message',
    'See the outcomes: "retry" may succeed later, "rejected" will not as it is.',
    true,
  ),
  ERR_LINES_REFUSED: entry(
    400,
    'Lines of an import are not valid',
    'Mend the lines that were reported and import them again.',
  ),
  ERR_INTERRUPTED: entry(500, 'The command was interrupted', 'Run it again to go on.', true),
  ERR_OUTPUT: entry(500, 'Nothing can be written to standard output', 'Check where it leads to.'),
  ERR_COMMAND: entry(500, 'The command failed', 'Run it again with --debug to see where.'),
  ERR_ADDRESS_BLOCKED: entry(
    500,
    'The push service resolves to an address that is not public',
    'If the push service is yours, add its origin to "pushServices".',
  ),
  ERR_CONNECTION: entry(502, 'The push service cannot be reached', 'Try again later.', true),
  ERR_TLS: entry(
    502,
    'The TLS connection to the push service failed',
    'Check the certificate or give its CA.',
    true,
  ),
  ERR_TIMEOUT: entry(504, 'The push service did not answer in time', 'Try again later.', true),
  ERR_CLOSED: entry(500, 'The sender is closed', 'Make a new sender.'),
  ERR_BROADCAST_NOT_FOUND: entry(404, 'There is no such broadcast', 'See `deskbell broadcasts list`.'),
  ERR_BROADCAST_STATE: entry(
    409,
    'The broadcast is not in a state that allows this',
    'See `deskbell broadcasts show`.',
  ),
  ERR_IDEMPOTENCY_KEY: entry(
    409,
    'The idempotency key was used for another broadcast',
    'Use a new key for a new message or audience.',
  ),
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof catalogue;
