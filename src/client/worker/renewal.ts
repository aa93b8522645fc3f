// Renews a subscription that the push service has dropped, even while no page is open (Push API §8.2).
import { ServiceApi, subscriptionBody } from '../service-api.ts';
import { ownName, reconcile } from '../subscription.ts';
import { readOwnState, tryLater, updateOwnState, worker } from './scope.ts';

const retryDelaysMs = [2_000, 8_000, 20_000];

/** @param former null also if notifications were blocked and are allowed again */
export async function renewWithRetries(former: PushSubscription | null): Promise<void> {
  const { serviceUrl, storedBody } = await readOwnState();
  // The site has subscribed without the page library.
  if (!serviceUrl) return;
  if (storedBody === undefined && former) await updateOwnState({ storedBody: subscriptionBody(former) });
  for (const delayMs of [0, ...retryDelaysMs]) {
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    try {
      return await renew();
    } catch {
      // renew() has reported it
    }
  }
  // without Background Sync, the page library tries again at page load
  await tryLater(ownName);
}

/** Turns a channel off at the service, after sending it the subscription in case it was lost. */
export async function turnOff(channel: string): Promise<void> {
  await updateOwnState(({ choices }) => ({ choices: { ...choices, [channel]: false } }));
  await renewWithRetries(null);
}

/** Subscribes anew and replaces the former subscription; failures are on the console. */
export async function renew(): Promise<void> {
  try {
    await navigator.locks.request(ownName, async () => {
      const { serviceUrl, storedBody } = await readOwnState();
      // unsubscribed, or notifications blocked, in the meantime
      if (storedBody === undefined || Notification.permission !== 'granted') return;
      // There is no token here: the service moves user and tags over.
      await reconcile(async () => worker.registration, new ServiceApi(new URL(serviceUrl!)));
    });
  } catch (error) {
    console.error('Deskbell: this browser could not be subscribed anew.', error);
    throw error;
  }
}
