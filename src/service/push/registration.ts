// Handles a valid registration. Nothing is logged until the application and the store have accepted it.
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { checkUserAndTags, type UserAndTags } from '../../audience/user-and-tags.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { lookUp } from '../../errors/check-options.ts';
import type { Log } from '../../http/log.ts';
import { decodeBase64, isSameSecret } from '../../protocol/bytes.ts';
import { defaultMaxPushServices, unlistedLimits } from '../../protocol/endpoint-policy.ts';
import type { Subscription } from '../../protocol/subscription.ts';
import { hashInvitation, notInvited } from '../../store/invitations.ts';
import {
  checkRight,
  type FormerSubscription,
  hasRight,
  type Registration,
  type StoredSubscription,
  type SubscriptionStore,
} from '../../store/subscriptions.ts';
import { wakeMessages, withUnlisted } from '../../store/unlisted-push-services.ts';
import type { OfferedSubscription, Settings } from '../options.ts';
import { createClientLimits } from '../../http/client-limits.ts';

type SentKeys = Readonly<Record<'p256dh' | 'auth', string>>;

export function createRegister(settings: Settings) {
  const { store, log } = settings;
  const writeOut = createWriteOut(log);
  const report = createReport(settings);
  const admit = createAdmit(settings);
  const withinLimits = createWithinLimits(settings);

  /** @throws {DeskbellError} ERR_NOT_INVITED, ERR_ENDPOINT_IN_USE, ERR_RATE_LIMITED, ERR_PUSH_SERVICE_LIMIT, ERR_SUBSCRIPTION_LIMIT, ERR_STORE_UNAVAILABLE; what the application throws */
  return async (given: Registration, keys: SentKeys, request: FastifyRequest, reply: FastifyReply) => {
    const registration = await admit(given, request.headers);
    const assign = await askApplication(registration, request, settings);
    await withinLimits(registration.subscription.endpoint, reply, () =>
      store.subscriptions.register(assign === undefined ? registration : { ...registration, assign }),
    );
    report(registration.subscription, keys);
    await writeOut();
  };
}

/** Runs outside any transaction, since the application may take a long time. */
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

/** Returns the user and tags that the subscription gets, unless the application returns others. */
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

/** Flushes the log once for all callers in the same turn of the event loop. */
function createWriteOut(log: Log): () => Promise<void> {
  let next: Promise<void> | undefined;
  const writeOut = async (): Promise<void> => {
    await new Promise<void>((resolve) => process.nextTick(resolve));
    next = undefined;
    log.flush?.();
  };
  return () => (next ??= writeOut());
}

// Decides who may register: everybody, or only invited browsers. A registered browser may always send its subscription
// again, or replace it with a new subscription, which deletes the old row. So an invitation lets in only one browser,
// however often this browser subscribes again.

export const invitationHeader = 'Deskbell-Invitation';

function createAdmit({ store, registrations = 'open' }: Settings) {
  const { subscriptions, invitations } = store;

  /** @returns the registration, and whether it replaces a former row; undefined if the browser is not registered */
  const asRegistered = async (registration: Registration): Promise<Registration | undefined> => {
    const { subscription, former } = registration;
    const row = await subscriptions.findByEndpoint(subscription.endpoint);
    if (row !== undefined) return hasRight(row, registration) ? registration : undefined;
    const formerRow = former && (await subscriptions.findByEndpoint(former.endpoint));
    if (formerRow === undefined || !isSameSecret(formerRow.auth, former!.auth)) return undefined;
    return { ...registration, replacesFormer: true };
  };

  /** @returns the registration, with the invitation that it uses up @throws {DeskbellError} ERR_NOT_INVITED */
  return async (registration: Registration, headers: IncomingHttpHeaders): Promise<Registration> => {
    const token = lookUp(headers, invitationHeader.toLowerCase());
    const isInvitedByToken = registration.assign !== undefined;
    if (isInvitedByToken || (token === undefined && registrations === 'open')) return registration;
    const invitation = token === undefined ? undefined : hashInvitation(String(token));
    const user = invitation && (await invitations.findUser(invitation, registration.subscription.endpoint));
    if (user !== undefined) return { ...registration, invitation, assign: { user } };
    const registered = await asRegistered(registration);
    if (registered !== undefined) return registered;
    throw invitation === undefined
      ? new DeskbellError(
          'ERR_NOT_INVITED',
          'This service takes only browsers that its operator has invited. Ask for an invitation; the operator makes it with ' +
            '"deskbell invite".',
        )
      : notInvited();
  };
}

// Finds the subscription that a registration replaces. A browser that had to subscribe again names the old subscription
// in a request header, with the `auth` as proof. User and tags then move to the new subscription. If the endpoint has
// stayed the same, the `auth` proves that its keys may be changed.

export const formerSubscriptionHeader = 'Deskbell-Former-Subscription';

/** @throws {DeskbellError} ERR_REQUEST_INVALID */
export function readFormerSubscription(headers: IncomingHttpHeaders): FormerSubscription | undefined {
  const value = lookUp(headers, formerSubscriptionHeader.toLowerCase());
  if (value === undefined) return undefined;
  const { endpoint, auth } = parse(String(value));
  const authBytes = typeof auth === 'string' ? decodeBase64(auth) : undefined;
  if (typeof endpoint === 'string' && authBytes !== undefined) return { endpoint, auth: authBytes };
  throw new DeskbellError(
    'ERR_REQUEST_INVALID',
    `${formerSubscriptionHeader} must be JSON with "endpoint" and "auth" (base64) of the former subscription.`,
  );
}

function parse(text: string): { readonly endpoint?: unknown; readonly auth?: unknown } {
  try {
    return (JSON.parse(text) as object | null) ?? {};
  } catch {
    return {};
  }
}

// Limits the number of unlisted push services, and the new subscriptions that each of them gets per minute.

const windowMs = 60_000;
const warnAtShare = 0.9;
const remedy =
  'List those that you want in pushServices, remove others with "deskbell subscriptions remove --push-service", or raise maxPushServices.';

function createWithinLimits(settings: Settings) {
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

  /** Calls `work` if the limits allow it. @throws {DeskbellError} ERR_RATE_LIMITED, ERR_PUSH_SERVICE_LIMIT */
  return async (endpoint: string, reply: FastifyReply, work: () => Promise<unknown>): Promise<unknown> => {
    const { origin, host } = new URL(endpoint);
    if (!endpointPolicy.isUnlisted(origin)) return work();
    // A browser may always change its stored subscription, even if its push service is no longer on the limited list of
    // unlisted push services. The push service returns to the list if there is room.
    if ((await store.subscriptions.findByEndpoint(endpoint)) !== undefined) {
      const result = await work();
      if ((await store.unlisted.add(origin, maxPushServices, true)) === 'added')
        await wakeMessages(store, origin);
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
