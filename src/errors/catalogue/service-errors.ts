// The errors of the public service with their HTTP status.
import { answerEntry, type ServiceErrorEntry } from './catalogue-entry.ts';

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
