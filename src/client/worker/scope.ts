// The global scope of the service worker, and what the page library has put into the URL of its script.
/// <reference lib="webworker" />
import type { PushMessage } from '../push-message.ts';
import type { ServiceWorkerHooks } from '../service-worker-hooks.ts';

export const worker = self as unknown as ServiceWorkerGlobalScope;

const scriptUrl = new URL(worker.location.href);
/** The Deskbell service; the page library names it in the script's URL where it is not this script's own folder. */
export const serviceUrl = new URL(scriptUrl.searchParams.get('service') ?? './', scriptUrl);
/** What a click on a notification opens; named likewise where this script is not beside the page. */
export const pageUrl = new URL(scriptUrl.searchParams.get('page') ?? './', scriptUrl).href;

/** What the site's own service worker has set, before or after it has imported this script. */
export function hooks(): ServiceWorkerHooks {
  return (worker as { deskbell?: ServiceWorkerHooks }).deskbell ?? {};
}

export function openPages(): Promise<readonly WindowClient[]> {
  return worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
}

/** An absolute URL of what is absolute or relative to the scope; undefined where it is none of these schemes. */
export function toUrl(address: unknown, schemes: RegExp): string | undefined {
  if (typeof address !== 'string') return undefined;
  try {
    const { href } = new URL(address, worker.registration.scope);
    return schemes.test(href) ? href : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined for a notification of the site's own: it may have imported this script. */
export function messageOf({ data }: Notification): PushMessage | undefined {
  return (data as { deskbell?: PushMessage } | null)?.deskbell;
}

/** Background Sync, where the browser has it. */
export async function tryLater(tag: string): Promise<void> {
  const { sync } = worker.registration as { sync?: { register(tag: string): Promise<void> } };
  await sync?.register(tag);
}
