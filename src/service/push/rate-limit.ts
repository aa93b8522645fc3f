// How often one client address may ask for what costs a write.
import { DeskbellError } from '../../errors/deskbell-error.ts';

/**
 * The limit of a route, as its `config.rateLimit`.
 *
 * @param what the client does with a request, such as "register"
 */
export function limitPerMinute(max: number | 'off', what: string) {
  return (
    max !== 'off' && {
      max,
      groupId: ` ${what}`,
      timeWindow: 60_000,
      errorResponseBuilder: (_request: unknown, { ttl }: { readonly ttl: number }) =>
        new DeskbellError(
          'ERR_RATE_LIMITED',
          `One client address may ${what} ${max} times a minute; wait ${Math.ceil(ttl / 1000)} s.`,
        ),
    }
  );
}
