// The errors of the operator's listener with their HTTP status, those of the service and the library included.
import { answerEntry, type CatalogueEntry, type ServiceErrorEntry } from './catalogue-entry.ts';
import { fieldErrors } from './field-errors.ts';
import { libraryErrors } from './library-errors.ts';
import { serviceErrors } from './service-errors.ts';

const answer = (status: number, words: CatalogueEntry): ServiceErrorEntry => ({ status, ...words });

export const ownOperatorErrors = {
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
    'Repeat the request, after the time that Retry-After names if there is one; the message is not stored. `items` says what each push service answered. With an Idempotency-Key, where an attempt got no answer at all, the repeated request gets ERR_MESSAGE_IN_DOUBT.',
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
