// What is asked of a subscription whose push service nobody has listed: that not too many new ones come from there in a minute, and
// that there are not too many such push services.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { defaultMaxPushServices, unlistedLimits } from '../../protocol/unlisted-push-services.ts';
import { withUnlisted } from '../../store/unlisted-push-services.ts';
import type { Settings } from '../options.ts';
import { createClientLimits } from './client-limits.ts';

const windowMs = 60_000;

/** Stores a subscription of the endpoint, where it may. @throws {DeskbellError} ERR_RATE_LIMITED, ERR_PUSH_SERVICE_LIMIT */
export type WithinLimits = (endpoint: string, store: () => Promise<unknown>) => Promise<unknown>;

export function createWithinLimits(settings: Settings): WithinLimits {
  const { store, endpointPolicy, maxPushServices = defaultMaxPushServices } = settings;
  const max = unlistedLimits.registrationsPerMinute;
  const limits = new (createClientLimits(store.clientRequests))({} as never);

  const count = (host: string): Promise<void> =>
    new Promise((resolve, reject) => {
      limits.incr(
        `${host} registered`,
        (_error, result) => {
          if (result === undefined || result.current <= max) return resolve();
          const seconds = Math.ceil(result.ttl / 1000);
          const message = `Only ${max} subscriptions of ${host} are registered in a minute, since it is not listed; wait ${seconds} s.`;
          return reject(new DeskbellError('ERR_RATE_LIMITED', message));
        },
        windowMs,
        max,
      );
    });

  return async (endpoint, work) => {
    const { origin, host } = new URL(endpoint);
    if (!endpointPolicy.isUnlisted(origin)) return work();
    // one that is stored may always be changed
    if ((await store.subscriptions.findByEndpoint(endpoint)) !== undefined) return work();
    await count(host);
    return withUnlisted(store, origin, maxPushServices, work);
  };
}
