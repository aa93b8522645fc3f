// All errors by their stable codes; docs/errors.md is generated from these tables. The first sentence of a text is the
// error's title, and the rest is the remedy.

export interface CatalogueEntry {
  /** The same call may succeed later without being changed. */
  readonly isRetryable: boolean;
  /** A short summary, the same for every occurrence (RFC 9457 `title`). */
  readonly title: string;
  readonly remedy: string;
}

export interface ServiceErrorEntry extends CatalogueEntry {
  readonly status: number;
}

type Texts<Code extends string> = Readonly<Record<Code, string>>;
type Table<Code extends string, Entry> = Readonly<Record<Code, Entry>>;

const entries = <Code extends string>(
  isRetryable: boolean,
  texts: Texts<Code>,
): Table<Code, CatalogueEntry> =>
  mapValues(texts, (text) => {
    const end = text.indexOf('. ');
    return { isRetryable, title: text.slice(0, end), remedy: text.slice(end + 2) };
  });

const answer = (status: number, entry: CatalogueEntry): ServiceErrorEntry => ({ status, ...entry });

const answers = <Code extends string>(status: number, texts: Texts<Code>): Table<Code, ServiceErrorEntry> =>
  mapValues(entries(false, texts), (entry) => answer(status, entry));

/** Temporary errors: the same request may succeed later. */
const passing = <Code extends string>(status: number, texts: Texts<Code>): Table<Code, ServiceErrorEntry> =>
  mapValues(entries(true, texts), (entry) => answer(status, entry));

const mapValues = <Code extends string, Value, Result>(
  table: Table<Code, Value>,
  toResult: (value: Value) => Result,
) =>
  Object.fromEntries(Object.entries<Value>(table).map(([code, value]) => [code, toResult(value)])) as Table<
    Code,
    Result
  >;

/**
 * Errors in one field of an input. The service lists them in "errors" of a problem; the library may also throw them.
 */
export const fieldErrors = entries(false, {
  ERR_FIELD_MISSING: 'A required field is missing. Add the field.',
  ERR_FIELD_TYPE: 'A field has the wrong type. Give a value of the type that the message names.',
  ERR_FIELD_VALUE:
    'A field has a value that is not allowed. Give a value that is allowed, as the message says.',
  ERR_ENDPOINT_INVALID: 'The endpoint is not a usable URL. Send the endpoint exactly as the browser gave it.',
  ERR_ENDPOINT_TOO_LONG: 'The endpoint is too long. Endpoints have at most 4096 characters.',
  ERR_ENDPOINT_HOST_REFUSED:
    'The endpoint does not belong to a known push service. If the push service is yours, add its origin to the configuration entry "pushServices".',
  ERR_BASE64_INVALID:
    'A field is not base64. Send standard or URL-safe base64, padded or not, without white space.',
  ERR_SUBSCRIPTION_KEY_INVALID:
    'The p256dh or auth of a subscription is not usable. Send p256dh (65-byte P-256 point) and auth (16 bytes) as the browser gave them.',
});

/** The errors of the public service with their HTTP status. */
export const serviceErrors = {
  ...answers(400, {
    ERR_SUBSCRIPTION_INVALID:
      'The subscription is not valid. Fix the fields named in "errors", and send the subscription again.',
    ERR_JSON_MALFORMED: 'The body is not JSON. Send well-formed JSON in UTF-8.',
    ERR_USER_ID_INVALID: 'The user id is not valid. Send a decimal int64.',
    ERR_REQUEST_INVALID: 'The request is not valid. See /openapi.json for the expected request.',
  }),
  ...answers(401, {
    ERR_UNAUTHENTICATED: 'No session. Send the session cookie.',
    ERR_SUBSCRIBER_TOKEN:
      'The subscriber token is not valid. Send a token that the application has just made, or no token.',
  }),
  ...answers(403, {
    ERR_FORBIDDEN: 'Refused. This session may not do this.',
    ERR_NOT_INVITED:
      'This registration needs an invitation. Open the link of an invitation ("deskbell invite") that was not used yet, within ten minutes.',
    ERR_CSRF: 'The CSRF token is missing or not valid. Send a valid token in the Csrf-Token header.',
  }),
  ...answers(404, {
    ERR_ROUTE_UNKNOWN: 'There is nothing at this path. See /openapi.json for the available paths.',
    ERR_USER_NOT_FOUND: 'There is no such user. Use the id of an existing user.',
  }),
  ...answers(405, {
    ERR_METHOD_NOT_ALLOWED: 'The method is not allowed here. Use a method named in the "allow" header.',
  }),
  ...passing(408, {
    ERR_REQUEST_TIMEOUT: 'The request took too long to arrive. Send the request faster.',
  }),
  ...answers(409, {
    ERR_VAPID_KEY_UNKNOWN:
      'The VAPID key is not one of this service. Subscribe again with the key in "vapidPublicKey".',
    ERR_ENDPOINT_IN_USE:
      'The endpoint is registered with other keys. Unsubscribe and subscribe again: the new subscription has another endpoint.',
  }),
  ...answers(413, {
    ERR_BODY_TOO_LARGE: 'The body is too large. Send a smaller body.',
  }),
  ...answers(415, {
    ERR_CONTENT_TYPE: 'The content type is not supported. Send content-type: application/json.',
  }),
  ...passing(429, {
    ERR_RATE_LIMITED: 'Too many requests. Wait as long as the "retry-after" header says.',
  }),
  ...answers(431, {
    ERR_HEADERS_TOO_LARGE: 'The request line and headers are too large. Send a shorter URL or fewer headers.',
  }),
  ...answers(500, {
    ERR_BODY_CONSUMED:
      'The request body was read before it reached the service. Mount the service before the middleware that reads bodies, or let that middleware keep the body in request.body.',
  }),
  ...passing(500, {
    ERR_INTERNAL: 'Something went wrong on the server. Try again later; the server log has the details.',
  }),
  ...passing(503, {
    ERR_NOT_READY: 'The store cannot be reached. Try again later.',
    ERR_SUBSCRIPTION_LIMIT:
      'No more subscriptions are stored. Try again later; the operator can raise maxSubscriptions.',
    ERR_PUSH_SERVICE_LIMIT:
      'No subscriptions of further push services are stored. The operator can list the push service in pushServices, or raise maxPushServices.',
    ERR_STORE_UNAVAILABLE:
      'The store does not answer. Remove the fault that the message or the log of the service names, and try again.',
  }),
};

export type ServiceErrorCode = keyof typeof serviceErrors;

/**
 * Errors that the library throws and the command prints. They have no HTTP status: if one reaches the public service,
 * its client gets ERR_INTERNAL, and the log gets the details.
 */
export const libraryErrors = {
  ...entries(false, {
    ERR_PAYLOAD_TOO_LARGE:
      'The payload is too large for one push message. Keep the payload within 3993 bytes of UTF-8.',
    ERR_MESSAGE_INVALID:
      'The push message or one of its options is not valid. Fix the option named in the message.',
    ERR_PLACEHOLDER_VALUE:
      'A placeholder without a default has no value for its reader. Give the placeholder a default, such as {name|there}, or set the value in the data of the person.',
    ERR_DECRYPTION_FAILED:
      'The push message cannot be decrypted. Decrypt the body as it was posted, with the keys of the subscription that it was posted to.',
    ERR_VAPID_KEY_INVALID:
      'The VAPID key pair is not usable. Give both halves of one P-256 pair as unpadded base64url.',
    ERR_VAPID_SUBJECT_INVALID:
      'The VAPID subject is not usable. Give a mailto: or https: URI that reaches you, not localhost.',
    ERR_KEY_FILE_MISSING:
      'The key file is missing. Restore it from a backup; a new pair would lose every subscriber.',
    ERR_KEY_FILE_CORRUPT: 'A key file cannot be used. Restore it from a backup.',
    ERR_KEY_FILE_EXISTS:
      'There is a key pair already. Keep this pair; --force replaces it and loses every subscriber.',
    ERR_KEY_IN_USE:
      'The key pair is still needed. See `deskbell keys list`; --force retires a pair that subscriptions were made with.',
    ERR_KEY_NOT_FOUND: 'There is no such key pair. See `deskbell keys list`.',
    ERR_KEY_FILE_EXPOSED:
      'The key file can be read by others. Remove the rights of other users (chmod 600), and find out who may have read it. If Kubernetes’ fsGroup gives them to the group, set groupAccess (DESKBELL_GROUP_ACCESS=true).',
    ERR_DATA_EXPOSED:
      'The database or the data directory can be used by others. Remove other users’ rights (chmod 600 for files, go-w for the directory), and find out who used them. If Kubernetes’ fsGroup gives them to the group, set groupAccess (DESKBELL_GROUP_ACCESS=true).',
    ERR_DATA_OWNER:
      'The data directory, or a file in it, belongs to another user. Run the command as that user (sudo -u). If you trust the contents of the directory, you can also give it to this user (chown -R).',
    ERR_STORE_CORRUPT: 'The database is damaged or from another program. Restore it from a backup.',
    ERR_STORE_TOO_NEW:
      'The database was made by a newer Deskbell. Update Deskbell, or use another data directory.',
    ERR_STORE_TOO_OLD:
      'The database was made before version 1.0.0. Export with the Deskbell that made it (`deskbell subscriptions export > subscriptions.jsonl`), and import into an empty database with this one (`deskbell subscriptions import subscriptions.jsonl`).',
    ERR_PACKAGE_MISSING:
      'An optional package is needed and is not installed. Install the package named in the message, beside Deskbell.',
    ERR_CONFIGURATION:
      'The configuration is not valid. Settings and options are described in docs/configuration.md.',
    ERR_NODE_VERSION: 'This version of Node is too old. Install Node 24 or newer.',
    ERR_USAGE: 'The command was not used as its help says. See --help.',
    ERR_FILE: 'A file or folder cannot be used. Check the path, its permissions and the disk.',
    ERR_LISTEN:
      'The address cannot be listened on. Give another address or port (0 picks a free one), or end the program that ' +
      'uses the address.',
    ERR_DATA_MISSING:
      'The data directory does not exist. Give another --data, or create it with `deskbell serve`, `deskbell operators add` or `deskbell keys generate`.',
    ERR_DATA_EXISTS:
      'The data directory has a database already. Give another --data, or stop the processes that use the directory, ' +
      'and move it away.',
    ERR_STORE_NOT_EMPTY:
      'The target of a copy has rows already. Give a new database, or a directory without a database.',
    ERR_COPY_SOURCE: 'There is nothing to copy. Give the data directory or the database that is in use now.',
    ERR_COPY_UNFINISHED:
      'The database is a copy that is not complete. Run `deskbell store copy` again with the same source and target; it continues where it stopped.',
    ERR_COPY_DIFFERS:
      'A copy and its source are not the same. Start again with a new, empty target, while nothing else uses source or target.',
    ERR_FAULTS_FOUND: '`deskbell doctor` has found faults. Follow the advice below each.',
    ERR_SUBSCRIPTION_NOT_FOUND: 'There is no such subscription. See `deskbell subscriptions list`.',
    ERR_ALARM_NOT_FOUND: 'There is no such alarm. It has ended; see `deskbell alarms list`.',
    ERR_LINES_REFUSED:
      'Lines of an import are not valid. Fix the lines that were reported and import them again.',
    ERR_OUTPUT: 'Nothing can be written to standard output. Check where standard output is redirected to.',
    ERR_COMMAND: 'The command failed. Run the command again with --debug to see where it failed.',
    ERR_ADDRESS_BLOCKED:
      'The push service resolves to an address that is not public. If the push service is yours, add its origin to "pushServices".',
    ERR_CLOSED: 'The sender or the store is closed. Open a new one.',
    ERR_OPERATOR_EXISTS:
      'There is an operator of this name already. Choose another name, or remove that operator first.',
    ERR_OPERATOR_NOT_FOUND: 'There is no such operator. See `deskbell operators list`.',
    ERR_BROADCAST_NOT_FOUND: 'There is no such broadcast. See `deskbell broadcasts list`.',
    ERR_SCHEDULE_INVALID:
      'The times of the schedule are not valid. Give five fields, such as "0 9 * * 1", and an IANA time zone, such as Europe/Berlin.',
    ERR_CHANNEL_NOT_FOUND: 'There is no such channel. See `deskbell channels list`.',
    ERR_BELL_EXISTS:
      'There is a bell of this name already. Choose another name. The address of the existing bell is not shown ' +
      'again, but `deskbell bells rotate` gives the bell a new address.',
    ERR_BELL_NOT_FOUND: 'There is no such bell. See `deskbell bells list`.',
    ERR_SCHEDULE_NOT_FOUND: 'There is no such schedule. See `deskbell schedules list`.',
    ERR_BROADCAST_STATE: 'The broadcast is not in a state that allows this. See `deskbell broadcasts show`.',
    ERR_IDEMPOTENCY_KEY:
      'The idempotency key was used for another request. Use a new key for a new message, audience or recipient.',
  }),
  ...entries(true, {
    ERR_STORE_IN_USE:
      'Another process uses the database. Stop all processes that use it, such as serve, worker and send, and try again.',
    ERR_NOT_ACCEPTED:
      'The push service did not accept a message. See the outcomes: "retry" may succeed later, "rejected" will not succeed unchanged.',
    ERR_BROADCAST_UNFINISHED:
      'The broadcast was paused or cancelled before its end. See `deskbell broadcasts show`; `deskbell broadcasts resume` continues one that was paused.',
    ERR_INTERRUPTED: 'The command was interrupted. Run the command again to continue.',
    ERR_CONNECTION: 'The push service cannot be reached. Try again later.',
    ERR_PROTOCOL:
      'The push service violated HTTP. Report it to the operator of the push service, with the error message.',
    ERR_TLS: 'The TLS connection to the push service failed. Check the certificate or give its CA.',
    ERR_TIMEOUT: 'The push service did not answer in time. Try again later.',
    ERR_SENDER_FAULT:
      'Sending failed on this side, for a reason that Deskbell does not know. Messages wait and are tried again. If it persists, please report it as a fault of Deskbell.',
  }),
};

/**
 * Errors that only the operator's listener (console and API) returns, by HTTP status. The listener also returns service
 * and library errors.
 */
const ownOperatorErrors = {
  ...answers(401, {
    ERR_TOKEN_INVALID:
      'The token is missing or not valid. Send "authorization: Bearer" with a token that `deskbell operators add` printed.',
    ERR_SIGNED_OUT: 'You are not signed in. Sign in to the console again.',
  }),
  ...answers(403, {
    ERR_TOKEN_ROLE:
      'The token does not permit this. Use a token of an operator with another role; see `deskbell operators list`.',
    ERR_ORIGIN_REFUSED:
      'The request comes from a page of another origin. Send the request from a program, or from a page of this ' +
      'listener.',
  }),
  ...answers(409, {
    ERR_MESSAGE_IN_DOUBT:
      'The message of this idempotency key may have been sent. Repeat the request in a minute. If there is still no answer, the process ended or failed while it sent the message. Send it with a new key; some recipients may get it twice.',
  }),
  ...answers(421, {
    ERR_HOST_REFUSED:
      'The listener does not accept this host. Use the address that the listener printed, or add the host to "operatorHosts".',
  }),
  ...answers(501, {
    ERR_METRICS_PACKAGE:
      'The package for metrics is not installed. Install it beside Deskbell: npm install @prometheus-io/client@0.16.1',
  }),
  ...passing(503, {
    ERR_MESSAGE_RETRY:
      'No push service has accepted the message yet. Repeat the request, after Retry-After if there is one; the message is not stored. `items` has each answer. With an Idempotency-Key, ERR_MESSAGE_IN_DOUBT follows if an attempt got no answer.',
  }),
};

export const operatorErrors = {
  ...serviceErrors,
  ...ownOperatorErrors,
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
};

export const catalogue = {
  ...serviceErrors,
  ...fieldErrors,
  ...libraryErrors,
  ...ownOperatorErrors,
};

/** The stable codes of all errors; docs/errors.md explains these codes. */
export type ErrorCode = keyof typeof catalogue;
