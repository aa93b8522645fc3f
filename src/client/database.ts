// This origin's database, shared by page library and service worker. It is an IndexedDB, because many sites' service
// workers delete caches that they do not know. Keys begin with a registration's scope.
import type { PushMessage } from './push-message.ts';
import type { Choices } from './service-api.ts';
import { storageTimeoutMs, withTimeLimit } from './time-limit.ts';

const name = 'deskbell';

/**
 * Runs `work` in a transaction, and resolves with the result when the transaction is complete. If storage fails,
 * resolves with undefined, because a browser can be subscribed without storage.
 *
 * @param work may await only requests to the store
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

export interface StoredState {
  /** The folder of the Deskbell service. */
  readonly serviceUrl?: string;
  /** The page that subscribed. Relative URLs in messages are resolved against it. */
  readonly pageUrl?: string;
  /**
   * The body of the request that last stored the subscription; undefined if this browser is not subscribed. If the push
   * service drops the subscription, the body shows that the browser must subscribe again, and tells the service which
   * row to replace.
   */
  readonly storedBody?: string | undefined;
  /** The value of `storedBody` before the current one. */
  readonly formerBody?: string | undefined;
  /** Channel choices that the service has not stored yet. */
  readonly choices?: Choices | undefined;
  readonly historyLimit?: number;
  /** Path of the last activated script that contains Deskbell. */
  readonly scriptPath?: string;
}

export async function readState(scope: string): Promise<StoredState> {
  return (await inStore('readonly', readStateIn(scope))) ?? {};
}

export type StateChanges = StoredState | ((state: StoredState) => StoredState);

export async function updateState(scope: string, changes: StateChanges): Promise<void> {
  await inStore('readwrite', async (store) => {
    const state = (await readStateIn(scope)(store)) ?? {};
    store.put({ ...state, ...(typeof changes === 'function' ? changes(state) : changes) }, stateKey(scope));
  });
}

const stateKey = (scope: string): IDBValidKey => [scope, 'state'];

const readStateIn =
  (scope: string) =>
  (store: IDBObjectStore): Promise<StoredState | undefined> =>
    resultOf(store.get(stateKey(scope)));

export const defaultHistoryLimit = 100;

/** A notification that this browser showed. `url` is an absolute http or https URL, or undefined. */
export interface HistoryEntry extends PushMessage {
  /** True if the notification was clicked, or if `markRead()` was called after it arrived. */
  readonly isRead: boolean;
}

/** Returns the last notifications, newest first. */
export async function readHistory(scope: string): Promise<readonly HistoryEntry[]> {
  return (await inStore('readonly', readHistoryIn(scope))) ?? [];
}

export const addToHistory = (scope: string, limit: number, message: PushMessage): Promise<void> =>
  changeHistory(scope, (entries) => {
    const isDeliveredAgain = entries.some(({ id }) => id !== undefined && id === message.id);
    return isDeliveredAgain ? entries : [{ ...message, isRead: false }, ...entries].slice(0, limit);
  });

/** @param receivedAtMs identifies the notification to mark; if undefined, all are marked */
export const markAsRead = (scope: string, receivedAtMs?: number): Promise<void> =>
  changeHistory(scope, (entries) =>
    entries.map((entry) =>
      (receivedAtMs ?? entry.receivedAtMs) === entry.receivedAtMs ? { ...entry, isRead: true } : entry,
    ),
  );

export const clearHistory = (scope: string): Promise<void> => changeHistory(scope, () => []);

type Entries = readonly HistoryEntry[];

async function changeHistory(scope: string, change: (entries: Entries) => Entries): Promise<void> {
  await inStore('readwrite', async (store) => {
    store.put(change((await readHistoryIn(scope)(store)) ?? []), historyKey(scope));
  });
}

const historyKey = (scope: string): IDBValidKey => [scope, 'history'];

const readHistoryIn =
  (scope: string) =>
  (store: IDBObjectStore): Promise<Entries | undefined> =>
    resultOf(store.get(historyKey(scope)));
