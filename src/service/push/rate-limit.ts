import { mustBe } from '../../errors/check-options.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';

export const defaultRegistrationsPerMinute = 60;
export const defaultReceiptsPerMinute = 600;

export const isRequestLimit = mustBe(
  'a whole number above 0 or "off"',
  (value) => value === 'off' || (Number.isInteger(value) && Number(value) > 0),
);

/** The limit of a route, for `config.rateLimit`. @param what the client does with a request, such as "register" */
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
