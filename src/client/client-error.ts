// Why something failed in the browser, and what the person can do.
/** Why a call failed. `ClientError.message` describes the failure; docs/troubleshooting.md says what to do. */
export type FailureReason =
  | 'not-in-browser'
  | 'no-support'
  | 'home-screen-required'
  | 'insecure-context'
  | 'private-window'
  | 'permission-denied'
  | 'permission-dismissed'
  | 'service-worker-failed'
  | 'push-service-off'
  | 'no-push-service'
  | 'push-service-unreachable'
  | 'not-subscribed'
  | 'server-unreachable'
  | 'server-refused';

/** The promises of a client reject with this error. */
export class ClientError extends Error {
  override readonly name = 'ClientError';
  readonly reason: FailureReason;
  /** The service's HTTP status, if it returned an error. */
  readonly status: number | undefined;

  constructor(reason: FailureReason, message: string, cause?: unknown, status?: number) {
    super(message, { cause });
    this.reason = reason;
    this.status = status;
  }
}

export function reported(failure: ClientError): ClientError {
  console.error('Deskbell:', failure.message, failure.cause ?? '');
  return failure;
}

/** False while a server renders the page. */
export const isInBrowser = typeof document !== 'undefined';

export function missingSupport(): ClientError | undefined {
  if (!isInBrowser) {
    return new ClientError(
      'not-in-browser',
      'There is no browser here. Call this in the page, not while it is rendered.',
    );
  }
  // Test environments such as jsdom do not define `isSecureContext`.
  if (globalThis.isSecureContext === false) {
    return new ClientError('insecure-context', 'Push needs https, or http on localhost.');
  }
  // in a sandboxed frame even `navigator.serviceWorker` throws
  const isSandboxed = globalThis.origin === 'null';
  if (!isSandboxed && 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window) {
    return undefined;
  }
  // Only browsers on iPhone and iPad have this member; it is true in an app on the Home Screen.
  if ((navigator as { standalone?: boolean }).standalone === false) {
    return new ClientError(
      'home-screen-required',
      'On an iPhone or iPad, push needs this page to be on the Home Screen.',
    );
  }
  // in a private window, an older Firefox has PushManager but no service workers
  if ('PushManager' in window && !('serviceWorker' in navigator)) return privateWindow();
  return new ClientError('no-support', 'This browser has no Web Push.');
}

/** @throws {ClientError} */
export function assertSupport(): void {
  const missing = missingSupport();
  if (missing) throw missing;
}

export function privateWindow(cause?: unknown): ClientError {
  return new ClientError('private-window', 'This browser has no Web Push in private windows.', cause);
}

export function permissionDenied(cause?: unknown, what = 'Notifications'): ClientError {
  return new ClientError('permission-denied', `${what} are blocked for this site.`, cause);
}
