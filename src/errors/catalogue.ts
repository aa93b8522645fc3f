// Every error that Deskbell names, by its stable code; docs/errors.md is generated from these tables.

export interface CatalogueEntry {
  /** The same call may succeed later without being changed. */
  readonly isRetryable: boolean;
  /** Short wording, the same for every occurrence (RFC 9457 `title`). */
  readonly title: string;
  readonly remedy: string;
}

const entry = (title: string, remedy: string, isRetryable = false): CatalogueEntry => ({
  isRetryable,
  title,
  remedy,
});

export interface ServiceErrorEntry extends CatalogueEntry {
  readonly status: number;
}

const answerEntry = (status: number, ...words: Parameters<typeof entry>): ServiceErrorEntry => ({
  status,
  ...entry(...words),
});

// Faults of one field of an input. The service lists them in "errors" of a problem; the library may throw one itself.

export const fieldErrors = {
  ERR_FIELD_MISSING: entry('A required field is missing', 'Add the field.'),
  ERR_FIELD_TYPE: entry('A field has the wrong type', 'Give a value of the type that the message names.'),
  ERR_FIELD_VALUE: entry(
    'A field has a value that is not allowed',
    'Give a value that is allowed, as the message says.',
  ),
  ERR_ENDPOINT_INVALID: entry(
    'The endpoint is not a usable URL',
    'Send the endpoint exactly as the browser gave it.',
  ),
  ERR_ENDPOINT_TOO_LONG: entry('The endpoint is too long', 'Endpoints have at most 4096 characters.'),
  ERR_ENDPOINT_HOST_REFUSED: entry(
    'The endpoint does not belong to a known push service',
    'If the push service is yours, add its origin to the configuration entry "pushServices".',
  ),
  ERR_BASE64_INVALID: entry(
    'A field is not base64',
    'Send standard or URL-safe base64, padded or not, without white space.',
  ),
  ERR_SUBSCRIPTION_KEY_INVALID: entry(
    'The p256dh or auth of a subscription is not usable',
    'Send p256dh (65-byte P-256 point) and auth (16 bytes) as the browser gave them.',
  ),
} as const satisfies Record<string, CatalogueEntry>;

// The errors of the public service with their HTTP status.

export const serviceErrors = {
  ERR_SUBSCRIPTION_INVALID: answerEntry(
    400,
    'The subscription is not valid',
    'Fix the fields named in "errors" and send it again.',
  ),
  ERR_JSON_MALFORMED: answerEntry(400, 'The body is not JSON', 'Send well-formed JSON in UTF-8.'),
  ERR_CONTENT_TYPE: answerEntry(
    415,
    'The content type is not supported',
    'Send content-type: application/json.',
  ),
  ERR_BODY_TOO_LARGE: answerEntry(413, 'The body is too large', 'Send a smaller body.'),
  ERR_ROUTE_UNKNOWN: answerEntry(
    404,
    'There is nothing at this path',
    'See /openapi.json for the available paths.',
  ),
  ERR_METHOD_NOT_ALLOWED: answerEntry(
    405,
    'The method is not allowed here',
    'Use a method named in the "allow" header.',
  ),
  ERR_VAPID_KEY_UNKNOWN: answerEntry(
    409,
    'The VAPID key is not one of this service',
    'Subscribe again with the key in "vapidPublicKey".',
  ),
  ERR_ENDPOINT_IN_USE: answerEntry(
    409,
    'The endpoint is registered with other keys',
    'Unsubscribe and subscribe again: the new subscription has another endpoint.',
  ),
  ERR_REQUEST_TIMEOUT: answerEntry(
    408,
    'The request took too long to arrive',
    'Send the request faster.',
    true,
  ),
  ERR_HEADERS_TOO_LARGE: answerEntry(
    431,
    'The request line and headers are too large',
    'Send a shorter URL or fewer headers.',
  ),
  ERR_RATE_LIMITED: answerEntry(
    429,
    'Too many requests',
    'Wait as long as the "retry-after" header says.',
    true,
  ),
  ERR_UNAUTHENTICATED: answerEntry(401, 'No session', 'Send the session cookie.'),
  ERR_SUBSCRIBER_TOKEN: answerEntry(
    401,
    'The subscriber token is not valid',
    'Send a token that the application has just made, or none.',
  ),
  ERR_FORBIDDEN: answerEntry(403, 'Refused', 'This session may not do this.'),
  ERR_NOT_INVITED: answerEntry(
    403,
    'This registration needs an invitation',
    'Open the link of an invitation ("deskbell invite") that was not used yet, within ten minutes.',
  ),
  ERR_CSRF: answerEntry(
    403,
    'The CSRF token is missing or not valid',
    'Send a valid token in the Csrf-Token header.',
  ),
  ERR_USER_ID_INVALID: answerEntry(400, 'The user id is not valid', 'Send a decimal int64.'),
  ERR_USER_NOT_FOUND: answerEntry(404, 'There is no such user', 'Use the id of an existing user.'),
  ERR_REQUEST_INVALID: answerEntry(
    400,
    'The request is not valid',
    'See /openapi.json for what is expected.',
  ),
  ERR_INTERNAL: answerEntry(
    500,
    'Something went wrong on the server',
    'Try again later; the server log has the details.',
    true,
  ),
  ERR_BODY_CONSUMED: answerEntry(
    500,
    'The request body was read before it reached the service',
    'Mount the service before the middleware that reads bodies, or let that middleware keep the body in request.body.',
  ),
  ERR_NOT_READY: answerEntry(503, 'The store cannot be reached', 'Try again later.', true),
  ERR_SUBSCRIPTION_LIMIT: answerEntry(
    503,
    'No more subscriptions are stored',
    'Try again later; the operator can raise maxSubscriptions.',
    true,
  ),
  ERR_PUSH_SERVICE_LIMIT: answerEntry(
    503,
    'No subscriptions of further push services are stored',
    'The operator can list the push service in pushServices, or raise maxPushServices.',
    true,
  ),
  ERR_STORE_UNAVAILABLE: answerEntry(
    503,
    'The store does not answer',
    'Remove the fault that the message or the log of the service names, and try again.',
    true,
  ),
} as const satisfies Record<string, ServiceErrorEntry>;

export type ServiceErrorCode = keyof typeof serviceErrors;

// Errors that the library throws and the command prints. They have no HTTP status: if one reaches the public service,
// its client gets ERR_INTERNAL and the log the details.

export const libraryErrors = {
  ERR_PAYLOAD_TOO_LARGE: entry(
    'The payload is too large for one push message',
    'Keep the payload within 3993 bytes of UTF-8.',
  ),
  ERR_MESSAGE_INVALID: entry(
    'The push message or one of its options is not valid',
    'Fix the option named in the message.',
  ),
  ERR_PLACEHOLDER_VALUE: entry(
    'A placeholder without a default has no value for its reader',
    'Give the placeholder a default, such as {name|there}, or set the value in the data of the person.',
  ),
  ERR_DECRYPTION_FAILED: entry(
    'The push message cannot be decrypted',
    'Decrypt the body as it was posted, with the keys of the subscription that it was posted to.',
  ),
  ERR_VAPID_KEY_INVALID: entry(
    'The VAPID key pair is not usable',
    'Give both halves of one P-256 pair as unpadded base64url.',
  ),
  ERR_VAPID_SUBJECT_INVALID: entry(
    'The VAPID subject is not usable',
    'Give a mailto: or https: URI that reaches you, not localhost.',
  ),
  ERR_KEY_FILE_MISSING: entry(
    'The key file is missing',
    'Restore it from a backup; a new pair would lose every subscriber.',
  ),
  ERR_KEY_FILE_CORRUPT: entry('A key file cannot be used', 'Restore it from a backup.'),
  ERR_KEY_FILE_EXISTS: entry(
    'There is a key pair already',
    'Keep it; --force replaces it and loses every subscriber.',
  ),
  ERR_KEY_IN_USE: entry(
    'The key pair is still needed',
    'See `deskbell keys list`; --force retires a pair that subscriptions were made with.',
  ),
  ERR_KEY_NOT_FOUND: entry('There is no such key pair', 'See `deskbell keys list`.'),
  ERR_KEY_FILE_EXPOSED: entry(
    'The key file can be read by others',
    'Remove the rights of other users (chmod 600), and find out who may have read it. If Kubernetes’ fsGroup gives them to the group, set groupAccess (DESKBELL_GROUP_ACCESS=true).',
  ),
  ERR_DATA_EXPOSED: entry(
    'The database or the data directory can be used by others',
    'Remove other users’ rights (chmod 600 for files, go-w for the directory), and find out who used them. If Kubernetes’ fsGroup gives them to the group, set groupAccess (DESKBELL_GROUP_ACCESS=true).',
  ),
  ERR_DATA_OWNER: entry(
    'The data directory, or a file in it, belongs to another user',
    'Run the command as that user (sudo -u). If you trust the contents of the directory, you can also give it to this user (chown -R).',
  ),
  ERR_STORE_CORRUPT: entry('The database is damaged or from another program', 'Restore it from a backup.'),
  ERR_STORE_TOO_NEW: entry(
    'The database was made by a newer Deskbell',
    'Update Deskbell, or use another data directory.',
  ),
  ERR_STORE_TOO_OLD: entry(
    'The database was made before version 1.0.0',
    'Export with the Deskbell that made it (`deskbell subscriptions export > subscriptions.jsonl`), and import into an empty database with this one (`deskbell subscriptions import subscriptions.jsonl`).',
  ),
  ERR_PACKAGE_MISSING: entry(
    'An optional package is needed and is not installed',
    'Install the package named in the message, beside Deskbell.',
  ),
  ERR_CONFIGURATION: entry(
    'The configuration is not valid',
    'Settings and options are described in docs/configuration.md.',
  ),
  ERR_NODE_VERSION: entry('This version of Node is too old', 'Install Node 24 or newer.'),
  ERR_USAGE: entry('The command was not used as its help says', 'See --help.'),
  ERR_FILE: entry('A file or folder cannot be used', 'Check the path, its permissions and the disk.'),
  ERR_LISTEN: entry(
    'The address cannot be listened on',
    'Give another address or port (0 picks a free one), or end the program that uses it.',
  ),
  ERR_DATA_MISSING: entry(
    'The data directory does not exist',
    'Give another --data, or create it with `deskbell serve`, `deskbell operators add` or `deskbell keys generate`.',
  ),
  ERR_DATA_EXISTS: entry(
    'The data directory has a database already',
    'Give another --data, or stop the processes that use it and move it away.',
  ),
  ERR_STORE_IN_USE: entry(
    'Another process uses the database',
    'Stop all processes that use it, such as serve, worker and send, and try again.',
    true,
  ),
  ERR_STORE_NOT_EMPTY: entry(
    'The target of a copy has rows already',
    'Give a new database, or a directory without one.',
  ),
  ERR_COPY_SOURCE: entry(
    'There is nothing to copy',
    'Give the data directory or the database that is in use now.',
  ),
  ERR_COPY_UNFINISHED: entry(
    'The database is a copy that is not complete',
    'Run `deskbell store copy` again with the same source and target; it continues where it stopped.',
  ),
  ERR_COPY_DIFFERS: entry(
    'A copy and its source are not the same',
    'Start again with a new, empty target, while nothing else uses source or target.',
  ),
  ERR_FAULTS_FOUND: entry('`deskbell doctor` has found faults', 'Follow the advice below each.'),
  ERR_SUBSCRIPTION_NOT_FOUND: entry('There is no such subscription', 'See `deskbell subscriptions list`.'),
  ERR_ALARM_NOT_FOUND: entry('There is no such alarm', 'It has ended; see `deskbell alarms list`.'),
  ERR_NOT_ACCEPTED: entry(
    'The push service did not accept a message',
    'See the outcomes: "retry" may succeed later, "rejected" will not succeed unchanged.',
    true,
  ),
  ERR_LINES_REFUSED: entry(
    'Lines of an import are not valid',
    'Fix the lines that were reported and import them again.',
  ),
  ERR_BROADCAST_UNFINISHED: entry(
    'The broadcast was paused or cancelled before its end',
    'See `deskbell broadcasts show`; `deskbell broadcasts resume` continues one that was paused.',
    true,
  ),
  ERR_INTERRUPTED: entry('The command was interrupted', 'Run the command again to continue.', true),
  ERR_OUTPUT: entry('Nothing can be written to standard output', 'Check where it is redirected to.'),
  ERR_COMMAND: entry('The command failed', 'Run it again with --debug to see where.'),
  ERR_ADDRESS_BLOCKED: entry(
    'The push service resolves to an address that is not public',
    'If the push service is yours, add its origin to "pushServices".',
  ),
  ERR_CONNECTION: entry('The push service cannot be reached', 'Try again later.', true),
  ERR_PROTOCOL: entry(
    'The push service violated HTTP',
    'Report it to the operator of the push service, with the error message.',
    true,
  ),
  ERR_TLS: entry(
    'The TLS connection to the push service failed',
    'Check the certificate or give its CA.',
    true,
  ),
  ERR_TIMEOUT: entry('The push service did not answer in time', 'Try again later.', true),
  ERR_SENDER_FAULT: entry(
    'Sending failed on this side, for a reason that Deskbell does not know',
    'Messages wait and are tried again. If it persists, please report it as a fault of Deskbell.',
    true,
  ),
  ERR_CLOSED: entry('The sender is closed', 'Make a new sender.'),
  ERR_OPERATOR_EXISTS: entry(
    'There is an operator of this name already',
    'Choose another name, or remove that operator first.',
  ),
  ERR_OPERATOR_NOT_FOUND: entry('There is no such operator', 'See `deskbell operators list`.'),
  ERR_BROADCAST_NOT_FOUND: entry('There is no such broadcast', 'See `deskbell broadcasts list`.'),
  ERR_SCHEDULE_INVALID: entry(
    'The times of the schedule are not valid',
    'Give five fields, such as "0 9 * * 1", and an IANA time zone, such as Europe/Berlin.',
  ),
  ERR_CHANNEL_NOT_FOUND: entry('There is no such channel', 'See `deskbell channels list`.'),
  ERR_BELL_EXISTS: entry(
    'There is a bell of this name already',
    'Choose another name, or remove that bell first.',
  ),
  ERR_BELL_NOT_FOUND: entry('There is no such bell', 'See `deskbell bells list`.'),
  ERR_SCHEDULE_NOT_FOUND: entry('There is no such schedule', 'See `deskbell schedules list`.'),
  ERR_BROADCAST_STATE: entry(
    'The broadcast is not in a state that allows this',
    'See `deskbell broadcasts show`.',
  ),
  ERR_IDEMPOTENCY_KEY: entry(
    'The idempotency key was used for another request',
    'Use a new key for a new message, audience or recipient.',
  ),
} as const satisfies Record<string, CatalogueEntry>;

// The errors of the operator's listener with their HTTP status, those of the service and the library included.

const answer = (status: number, words: CatalogueEntry): ServiceErrorEntry => ({ status, ...words });

const ownOperatorErrors = {
  ERR_TOKEN_INVALID: answerEntry(
    401,
    'The token is missing or not valid',
    'Send "authorization: Bearer" with a token that `deskbell operators add` printed.',
  ),
  ERR_SIGNED_OUT: answerEntry(401, 'You are not signed in', 'Sign in to the console again.'),
  ERR_TOKEN_ROLE: answerEntry(
    403,
    'The token does not permit this',
    'Use a token of an operator with another role; see `deskbell operators list`.',
  ),
  ERR_HOST_REFUSED: answerEntry(
    421,
    'The listener does not accept this host',
    'Use the address that the listener printed, or add the host to "operatorHosts".',
  ),
  ERR_ORIGIN_REFUSED: answerEntry(
    403,
    'The request comes from a page of another origin',
    'Send it from a program, or from a page of this listener.',
  ),
  ERR_MESSAGE_IN_DOUBT: answerEntry(
    409,
    'The message of this idempotency key may have been sent',
    'Repeat the request in a minute. If there is still no answer, the process ended while it sent the message. Send it with a new key; some recipients may get it twice.',
  ),
  ERR_MESSAGE_RETRY: answerEntry(
    503,
    'No push service has accepted the message yet',
    'Repeat the request, after Retry-After if there is one; the message is not stored. `items` has each answer. With an Idempotency-Key, ERR_MESSAGE_IN_DOUBT follows if an attempt got no answer.',
    true,
  ),
  ERR_METRICS_PACKAGE: answerEntry(
    501,
    'The package for metrics is not installed',
    'Install it beside Deskbell: npm install @prometheus-io/client@0.16.1',
  ),
} as const satisfies Record<string, ServiceErrorEntry>;

export const operatorErrors = {
  ...ownOperatorErrors,
  ERR_CSRF: serviceErrors.ERR_CSRF,
  ERR_JSON_MALFORMED: serviceErrors.ERR_JSON_MALFORMED,
  ERR_CONTENT_TYPE: serviceErrors.ERR_CONTENT_TYPE,
  ERR_BODY_TOO_LARGE: serviceErrors.ERR_BODY_TOO_LARGE,
  ERR_BODY_CONSUMED: serviceErrors.ERR_BODY_CONSUMED,
  ERR_ROUTE_UNKNOWN: serviceErrors.ERR_ROUTE_UNKNOWN,
  ERR_METHOD_NOT_ALLOWED: serviceErrors.ERR_METHOD_NOT_ALLOWED,
  ERR_REQUEST_TIMEOUT: serviceErrors.ERR_REQUEST_TIMEOUT,
  ERR_HEADERS_TOO_LARGE: serviceErrors.ERR_HEADERS_TOO_LARGE,
  ERR_RATE_LIMITED: serviceErrors.ERR_RATE_LIMITED,
  ERR_REQUEST_INVALID: serviceErrors.ERR_REQUEST_INVALID,
  ERR_INTERNAL: serviceErrors.ERR_INTERNAL,
  ERR_STORE_UNAVAILABLE: serviceErrors.ERR_STORE_UNAVAILABLE,
  ERR_SUBSCRIPTION_INVALID: serviceErrors.ERR_SUBSCRIPTION_INVALID,
  ERR_FIELD_TYPE: answer(400, fieldErrors.ERR_FIELD_TYPE),
  ERR_FIELD_VALUE: answer(400, fieldErrors.ERR_FIELD_VALUE),
  ERR_CONFIGURATION: answer(409, libraryErrors.ERR_CONFIGURATION),
  ERR_SCHEDULE_INVALID: answer(400, libraryErrors.ERR_SCHEDULE_INVALID),
  ERR_CHANNEL_NOT_FOUND: answer(404, libraryErrors.ERR_CHANNEL_NOT_FOUND),
  ERR_BELL_EXISTS: answer(409, libraryErrors.ERR_BELL_EXISTS),
  ERR_BELL_NOT_FOUND: answer(404, libraryErrors.ERR_BELL_NOT_FOUND),
  ERR_SCHEDULE_NOT_FOUND: answer(404, libraryErrors.ERR_SCHEDULE_NOT_FOUND),
  ERR_MESSAGE_INVALID: answer(400, libraryErrors.ERR_MESSAGE_INVALID),
  ERR_PAYLOAD_TOO_LARGE: answer(400, libraryErrors.ERR_PAYLOAD_TOO_LARGE),
  ERR_PLACEHOLDER_VALUE: answer(422, libraryErrors.ERR_PLACEHOLDER_VALUE),
  ERR_SUBSCRIPTION_NOT_FOUND: answer(404, libraryErrors.ERR_SUBSCRIPTION_NOT_FOUND),
  ERR_ALARM_NOT_FOUND: answer(404, libraryErrors.ERR_ALARM_NOT_FOUND),
  ERR_BROADCAST_NOT_FOUND: answer(404, libraryErrors.ERR_BROADCAST_NOT_FOUND),
  ERR_BROADCAST_STATE: answer(409, libraryErrors.ERR_BROADCAST_STATE),
  ERR_IDEMPOTENCY_KEY: answer(422, libraryErrors.ERR_IDEMPOTENCY_KEY),
} as const satisfies Record<string, ServiceErrorEntry>;

export const catalogue = {
  ...serviceErrors,
  ...fieldErrors,
  ...libraryErrors,
  ...ownOperatorErrors,
} as const satisfies Record<string, CatalogueEntry>;

/** The stable codes of all errors; docs/errors.md explains each. */
export type ErrorCode = keyof typeof catalogue;
