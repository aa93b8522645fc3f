// Faults of one field of an input. The service lists them in "errors" of a problem; the library may throw one itself.
import { entry, type CatalogueEntry } from './catalogue-entry.ts';

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
