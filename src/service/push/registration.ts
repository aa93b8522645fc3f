// Handles a registration between its checks and its 200. Until the application and the store accept it, nothing is
// logged.
import type { FastifyReply, FastifyRequest } from 'fastify';

import type { Subscription } from '../../protocol/subscription.ts';
import { type UserAndTags, checkUserAndTags } from '../../audience/user-and-tags.ts';
import { isSameSecret } from '../../protocol/same-secret.ts';
import { checkRight } from '../../store/registration-right.ts';
import type { Registration, StoredSubscription, SubscriptionStore } from '../../store/subscriptions.ts';
import type { Log } from '../../http/log.ts';
import type { OfferedSubscription, Settings } from '../options.ts';
import { createAdmit } from './invitation.ts';
import { createWithinLimits } from './unlisted-push-services.ts';

type SentKeys = Readonly<Record<'p256dh' | 'auth', string>>;

/** @throws {DeskbellError} ERR_NOT_INVITED, ERR_ENDPOINT_IN_USE, ERR_RATE_LIMITED, ERR_PUSH_SERVICE_LIMIT, ERR_SUBSCRIPTION_LIMIT, ERR_STORE_UNAVAILABLE; what the application throws */
export type Register = (
  registration: Registration,
  keys: SentKeys,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<void>;

export function createRegister(settings: Settings): Register {
  const { store, log } = settings;
  const writeOut = createWriteOut(log);
  const report = createReport(settings);
  const admit = createAdmit(settings);
  const withinLimits = createWithinLimits(settings);
  return async (given, keys, request, reply) => {
    const registration = await admit(given, request.headers);
    const assign = await askApplication(registration, request, settings);
    await withinLimits(registration.subscription.endpoint, reply, () =>
      store.subscriptions.register(assign === undefined ? registration : { ...registration, assign }),
    );
    report(registration.subscription, keys);
    await writeOut();
  };
}

/** Outside any transaction, since the application may take its time. */
async function askApplication(
  registration: Registration,
  request: FastifyRequest,
  { store: { subscriptions }, onSubscribe }: Settings,
): Promise<UserAndTags | undefined> {
  if (onSubscribe === undefined) return undefined;
  const { subscription, vapidPublicKey } = registration;
  const known = await subscriptions.findByEndpoint(subscription.endpoint);
  if (known !== undefined) checkRight(known, registration);
  const { user, tags = [] } = await whoseItWillBe(registration, known, subscriptions);
  const offered: OfferedSubscription = {
    ...subscription,
    vapidPublicKey,
    id: known?.id,
    user,
    tags,
  };
  return readUserAndTags(await onSubscribe(offered, request));
}

/** The user and tags unless the application returns others. */
async function whoseItWillBe(
  { assign, former }: Registration,
  known: StoredSubscription | undefined,
  subscriptions: SubscriptionStore,
): Promise<UserAndTags> {
  if (assign !== undefined) return assign;
  const hasOwner = known !== undefined && (known.user !== undefined || known.tags.length > 0);
  if (hasOwner || former === undefined) return known ?? {};
  const row = await subscriptions.findByEndpoint(former.endpoint);
  return row !== undefined && isSameSecret(row.auth, former.auth) ? row : {};
}

function readUserAndTags(result: unknown): UserAndTags | undefined {
  if (typeof result !== 'object' || result === null || !('user' in result || 'tags' in result))
    return undefined;
  return checkUserAndTags(result as UserAndTags);
}

function createReport({ endpointPolicy, log, redactSubscriptions }: Settings) {
  let unknownPaths = 0;
  return ({ endpoint }: Subscription, { p256dh, auth }: SentKeys): void => {
    const { origin } = new URL(endpoint);
    log.info(
      redactSubscriptions
        ? { event: 'subscription', endpoint: `${origin}/…` }
        : { event: 'subscription', endpoint, p256dh, auth },
    );
    if (endpointPolicy.hasKnownPath(endpoint)) return;
    unknownPaths += 1;
    log.info({ event: 'unknown-path', origin, count: unknownPaths });
  };
}

/** Flushes the log once for all callers of one turn of the event loop. */
function createWriteOut(log: Log): () => Promise<void> {
  let next: Promise<void> | undefined;
  const writeOut = async (): Promise<void> => {
    await new Promise<void>((resolve) => process.nextTick(resolve));
    next = undefined;
    log.flush?.();
  };
  return () => (next ??= writeOut());
}
