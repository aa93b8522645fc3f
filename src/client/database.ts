// This origin's database, shared by page library and service worker. IndexedDB, since many sites' service workers
// delete caches that they do not know. Keys begin with a registration's scope.
import { storageTimeoutMs, withTimeLimit } from './time-limit.ts';

const name = 'deskbell';

/**
 * Runs work in its own transaction, which is complete when this resolves. Returns undefined if the site may store
 * nothing; the browser can be subscribed anyway.
 *
 * @param work awaits only requests to the store
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
