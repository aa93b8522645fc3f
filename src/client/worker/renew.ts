// Subscribes again if the push service dropped the subscription (Push API §8.2), even while no page is open. Also turns
// a channel off when the reader presses the notification's button for this.
import { ServiceApi, subscriptionBody } from '../service-api.ts';
import { ownName, reconcile } from '../subscription.ts';
import { readOwnState, tryLater, updateOwnState, worker } from './scope.ts';

const retryDelaysMs = [2_000, 8_000, 20_000];

/** @param former the old subscription; null if the browser forgot it, for example while notifications were blocked */
export async function renewWithRetries(former: PushSubscription | null): Promise<void> {
  const { serviceUrl, storedBody } = await readOwnState();
  // The state is empty if the site subscribed without the page library.
  if (!serviceUrl) return;
  if (storedBody === undefined && former) await updateOwnState({ storedBody: subscriptionBody(former) });
  for (const delayMs of [0, ...retryDelaysMs]) {
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    try {
      return await renew();
    } catch {
      // try again; renew() has already reported the error
    }
  }
  // in browsers without Background Sync, the page library tries again when a page is loaded
  await tryLater(ownName);
}

/** Turns a channel off at the service. Sends the subscription first, in case the service has lost it. */
export async function turnOff(channel: string): Promise<void> {
  await updateOwnState(({ choices }) => ({ choices: { ...choices, [channel]: false } }));
  await renewWithRetries(null);
}

/** Subscribes again and replaces the old subscription. Failures are reported on the console. */
export async function renew(): Promise<void> {
  try {
    await navigator.locks.request(ownName, async () => {
      const { serviceUrl, storedBody } = await readOwnState();
      // in the meantime, the browser was unsubscribed or notifications were blocked
      if (storedBody === undefined || Notification.permission !== 'granted') return;
      // No subscriber token is needed: the service moves the user and tags to the new subscription.
      await reconcile(async () => worker.registration, new ServiceApi(new URL(serviceUrl!)));
    });
  } catch (error) {
    console.error('Deskbell: this browser could not be subscribed anew.', error);
    throw error;
  }
}
