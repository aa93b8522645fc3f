// Makes this browser's subscription. Pages use this, and the service worker uses it while no page is open.
import { ClientError, permissionDenied, privateWindow } from './client-error.ts';
import { readState, updateState } from './database.ts';
import { base64, type ServiceApi, subscriptionBody } from './service-api.ts';
import { withTimeLimit } from './time-limit.ts';

/** The name of the lock that pages and service worker share, and of the service worker's sync event. */
export const ownName = 'deskbell';

/**
 * Makes browser, push service and Deskbell agree: one subscription, with the current key, stored.
 *
 * @throws {ClientError}
 */
export async function reconcile(
  register: () => Promise<ServiceWorkerRegistration>,
  service: ServiceApi,
  isRefused = false,
): Promise<PushSubscription> {
  const vapidKey = await service.fetchVapidKey();
  const { pushManager, scope } = await register();
  const existing = await pushManager.getSubscription();
  const subscription = await subscribe(pushManager, vapidKey, service.timeoutMs, isRefused);
  const body = subscriptionBody(subscription);
  const { storedBody, formerBody } = await readState(scope);
  const known = storedBody ?? (existing && subscriptionBody(existing));
  const isStored = known === body;
  // A service restored from a backup may have only the previous subscription.
  const former = isStored ? formerBody : known;
  try {
    await service.store(body, vapidKey, former);
  } catch (error) {
    // The service has a new key, or stores the endpoint with other keys. Either way, a new subscription is needed.
    const { status = 0 } = error as ClientError;
    if (!isRefused && status === 409) return reconcile(register, service, true);
    // If the service, its `onSubscribe` or a login in front of it refuses the first subscription, the subscription is
    // ended, so that a later page load does not store it for somebody else.
    if (!known && [400, 401, 403].includes(status)) {
      await atPushService(subscription.unsubscribe(), service.timeoutMs).catch(() => undefined);
    }
    throw error;
  }
  if (former && !isStored) await service.remove(former);
  await sendChoices(scope, body, service);
  await updateState(scope, { storedBody: body, formerBody: former ?? undefined });
  return subscription;
}

/** Sends channel choices that were made while the service could not be reached. @throws {ClientError} */
export async function sendChoices(scope: string, body: string, service: ServiceApi): Promise<void> {
  const { choices: sent } = await readState(scope);
  if (!sent) return;
  const channels = await service.choose(body, sent).catch((error: ClientError) => {
    // drops choices that the service refuses, for example because their channel no longer exists
    const { status = 0 } = error;
    if (status < 400 || status > 499 || status === 429) throw error;
    return [];
  });
  // Any other response means that the service does not have the subscription yet, so the choices are sent later.
  if (channels.some(({ name, isOn }) => sent[name] === !isOn)) return;
  await updateState(scope, ({ choices = {} }) => {
    const left = Object.entries(choices).filter(([name]) => !Object.hasOwn(sent, name));
    return { choices: left.length > 0 ? Object.fromEntries(left) : undefined };
  });
}

/**
 * Returns the browser's subscription with this key, or makes a new one.
 *
 * @param isRefused whether the service refused the existing subscription
 * @throws {ClientError}
 */
export async function subscribe(
  pushManager: PushManager,
  applicationServerKey: string,
  timeoutMs: number,
  isRefused = false,
): Promise<PushSubscription> {
  const existing = await pushManager.getSubscription();
  if (existing && !isRefused && isUsable(existing, applicationServerKey)) return existing;
  if (existing) await atPushService(existing.unsubscribe(), timeoutMs);
  return atPushService(pushManager.subscribe({ userVisibleOnly: true, applicationServerKey }), timeoutMs);
}

/** Adds a time limit, because Chromium waits forever for a push service that it cannot reach. @throws {ClientError} */
export async function atPushService<Result>(work: Promise<Result>, timeoutMs: number): Promise<Result> {
  const startMs = Date.now();
  try {
    return await withTimeLimit(timeoutMs, work);
  } catch (cause) {
    throw describeRefusal(cause as Error, Date.now() - startMs);
  }
}

/**
 * A browser without a push service refuses within this time. Firefox takes longer to give the same error if it cannot
 * reach Mozilla's push service.
 */
const longestRefusalMs = 2_000;

/** Most browsers give the reason only in words. `Registration failed - …` is from Chromium or a derivative. */
function describeRefusal(cause: Error, waitedMs: number): ClientError {
  const { name, message } = cause;
  if (name === 'NotAllowedError') return permissionDenied(cause);
  if (name === 'AbortError' && /permission denied/.test(message)) return privateWindow(cause);
  const isAway = message.startsWith('Registration')
    ? /could not connect/.test(message)
    : name !== 'AbortError' || waitedMs > longestRefusalMs;
  if (isAway || !navigator.onLine) {
    return new ClientError(
      'push-service-unreachable',
      "The browser's push service cannot be reached.",
      cause,
    );
  }
  if ('brave' in navigator) {
    return new ClientError(
      'push-service-off',
      'Brave does not use its push service: “Use Google services for push messaging” is off in brave://settings/privacy.',
      cause,
    );
  }
  return new ClientError('no-push-service', `This browser has no push service: ${message}`, cause);
}

/** When a subscription has ended for good, Chromium changes the endpoint's host to this name and keeps the keys. */
const removedHost = 'permanently-removed.invalid';

function isUsable({ endpoint, options }: PushSubscription, vapidKey: string): boolean {
  const key = `${vapidKey.replaceAll('-', '+').replaceAll('_', '/')}=`;
  return base64(options.applicationServerKey) === key && new URL(endpoint).host !== removedHost;
}

/** The page library's question to a service worker. Only a service worker that includes Deskbell responds. */
export const question = 'Is Deskbell here?';
