// The database of this origin that page library and service worker share. IndexedDB rather than a cache, since the service
// workers of many sites delete all caches that they do not know. Keys begin with the scope of a registration, so that
// several on one origin do not mix.
import { storageTimeoutMs, withTimeLimit } from './time-limit.ts';

const name = 'deskbell';

/**
 * Does something in a transaction of its own, which is complete when this resolves. Undefined where a site may keep
 * nothing: its browser can be subscribed all the same.
 *
 * @param work awaits nothing but requests to the store
 */
export function inStore<Result>(
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => Promise<Result>,
): Promise<Result | undefined> {
  return withTimeLimit(storageTimeoutMs, inTransaction(mode, work)).catch(() => undefined);
}

async function inTransaction<Result>(
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => Promise<Result>,
): Promise<Result> {
  const opening = indexedDB.open(name, 1);
  opening.addEventListener('upgradeneeded', () => opening.result.createObjectStore(name));
  const database = await resultOf(opening);
  try {
    const transaction = database.transaction(name, mode);
    const completion = new Promise((resolve, reject) => {
      transaction.addEventListener('complete', resolve);
      transaction.addEventListener('abort', () => reject(transaction.error));
    });
    const [result] = await Promise.all([work(transaction.objectStore(name)), completion]);
    return result;
  } finally {
    database.close();
  }
}

export function resultOf<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error));
  });
}
