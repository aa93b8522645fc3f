// Limits push services that nobody has listed: their number, and new subscriptions of each a minute.
import type { FastifyReply } from 'fastify';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { defaultMaxPushServices, unlistedLimits } from '../../protocol/endpoint-policy.ts';
import { withUnlisted } from '../../store/unlisted-push-services.ts';
import type { Settings } from '../options.ts';
import { createClientLimits } from './client-limits.ts';

const windowMs = 60_000;
const warnAtShare = 0.9;
const remedy =
  'List those that you want in pushServices, remove others with "deskbell subscriptions remove --push-service", or raise maxPushServices.';

/** Calls `store` if the limits allow. @throws {DeskbellError} ERR_RATE_LIMITED, ERR_PUSH_SERVICE_LIMIT */
export type WithinLimits = (
  endpoint: string,
  reply: Pick<FastifyReply, 'header'>,
  store: () => Promise<unknown>,
) => Promise<unknown>;

export function createWithinLimits(settings: Settings): WithinLimits {
  const { store, log, endpointPolicy, maxPushServices = defaultMaxPushServices } = settings;
  const max = unlistedLimits.registrationsPerMinute;
  const limits = new (createClientLimits(store.clientRequests))();

  let isNearlyFull = false;
  const warn = async (): Promise<void> => {
    const pushServices = await store.unlisted.countProven();
    const wasNearlyFull = isNearlyFull;
    isNearlyFull = pushServices >= warnAtShare * maxPushServices;
    if (isNearlyFull && !wasNearlyFull)
      log.info({ event: 'push-services-nearly-full', pushServices, maxPushServices, remedy });
  };

  return async (endpoint, reply, work) => {
    const { origin, host } = new URL(endpoint);
    if (!endpointPolicy.isUnlisted(origin)) return work();
    // a stored one may always be changed; its push service gets its place again, if there is one
    if ((await store.subscriptions.findByEndpoint(endpoint)) !== undefined) {
      const result = await work();
      await store.unlisted.add(origin, maxPushServices, true);
      return result;
    }
    const { requests, endsInMs } = await limits.count(`${host} registered`, windowMs, max);
    if (requests <= max) {
      const result = await withUnlisted(store, origin, maxPushServices, work, true);
      await warn();
      return result;
    }
    const seconds = Math.ceil(endsInMs / 1000);
    reply.header('retry-after', String(seconds));
    throw new DeskbellError(
      'ERR_RATE_LIMITED',
      `Only ${max} subscriptions of ${host} are registered in a minute, since it is not listed; wait ${seconds} s.`,
    );
  };
}
