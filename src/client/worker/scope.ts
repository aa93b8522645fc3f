// The global scope of the service worker, and what the page library has stored for it.
/// <reference lib="webworker" />
import type { PushMessage } from '../push-message.ts';
import type { ServiceWorkerHooks } from '../service-worker-hooks.ts';
import { readState, type StateChanges, type StoredState, updateState } from '../database.ts';

export const worker = self as unknown as ServiceWorkerGlobalScope;

export const readOwnState = (): Promise<StoredState> => readState(worker.registration.scope);
export const updateOwnState = (changes: StateChanges): Promise<void> =>
  updateState(worker.registration.scope, changes);

/** The hooks of the site's own service worker, which may set them after it imports this script. */
export function hooks(): ServiceWorkerHooks {
  return (worker as { deskbell?: ServiceWorkerHooks }).deskbell ?? {};
}

export const linkScheme = /^https?:/;

export async function readPageUrl(): Promise<string> {
  return (await readOwnState()).pageUrl ?? worker.registration.scope;
}

export function openPages(): Promise<readonly WindowClient[]> {
  return worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
}

/** Passes a message to a page. Pages with another registration ignore the message because of its scope. */
export function passOn(message: PushMessage, page: WindowClient): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a Client has no such parameter
  page.postMessage({ deskbell: message, scope: worker.registration.scope });
}

/** @returns undefined if the address is invalid or has none of these schemes */
export function toUrl(address: unknown, base: string, schemes: RegExp): string | undefined {
  if (typeof address !== 'string') return undefined;
  try {
    const { href } = new URL(address, base);
    return schemes.test(href) ? href : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined if the site itself, not Deskbell, showed the notification. */
export function messageOf({ data }: Notification): PushMessage | undefined {
  return (data as { deskbell?: PushMessage } | null)?.deskbell;
}

/** Background Sync, in browsers that have it. */
export async function tryLater(tag: string): Promise<void> {
  const { sync } = worker.registration as { sync?: { register(tag: string): Promise<void> } };
  await sync?.register(tag);
}
