// Whether this browser has Web Push, and what it means where the user does not permit notifications.
import { ClientError } from './client-error.ts';

/** Undefined where nothing is missing. */
export function missingSupport(): ClientError | undefined {
  if (!isSecureContext) {
    return new ClientError('insecure-context', 'Push needs https, or http on localhost.');
  }
  if ('serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window) return undefined;
  // Only the browsers of iPhone and iPad have this member; it is true in an app on the Home Screen.
  if ((navigator as { standalone?: boolean }).standalone === false) {
    return new ClientError(
      'home-screen-required',
      'On an iPhone or iPad, push needs this page to be on the Home Screen.',
    );
  }
  return new ClientError('no-support', 'This browser has no Web Push.');
}

/** @throws {ClientError} */
export function assertSupport(): void {
  const missing = missingSupport();
  if (missing) throw missing;
}

export function permissionDenied(cause?: unknown): ClientError {
  return new ClientError('permission-denied', 'Notifications are blocked for this site.', cause);
}
