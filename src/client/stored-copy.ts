// The service's copy of this browser's subscription, as this browser remembers it. It says that the browser is to be
// subscribed, also after the push service has dropped the subscription, and which row of the service to replace then.
// The service worker reads and writes the same entry.

export class StoredCopy {
  readonly #url: string;

  /** @param scope of the service worker */
  constructor(scope: string) {
    this.#url = `${scope}deskbell-subscription`;
  }

  /** The request body that was last stored, undefined where this browser is not subscribed. */
  read(): Promise<string | undefined> {
    return withCache(async (cache) => (await cache.match(this.#url))?.text());
  }

  async write(body: string): Promise<void> {
    await withCache((cache) => cache.put(this.#url, new Response(body)));
  }

  async forget(): Promise<void> {
    await withCache((cache) => cache.delete(this.#url));
  }
}

/** Where a site may keep nothing, its browser can still be subscribed. */
async function withCache<Result>(work: (cache: Cache) => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work(await caches.open('deskbell'));
  } catch {
    return undefined;
  }
}
