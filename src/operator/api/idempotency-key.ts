// The header by which a request can be repeated.
import { maxKeyCharacters } from '../../delivery/idempotency-key.ts';

export const idempotencyKeyOf = (description: string) => ({
  'Idempotency-Key': { description, schema: { type: 'string', minLength: 1, maxLength: maxKeyCharacters } },
});
