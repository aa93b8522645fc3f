// The last notifications that this browser showed, which the service worker keeps, even those dismissed or replaced.
import { inStore, resultOf } from './database.ts';
import type { PushMessage } from './push-message.ts';

export const defaultHistoryLimit = 100;

/** A notification that this browser showed. `url` is absolute, or undefined if it is no http or https address. */
export interface HistoryEntry extends PushMessage {
  /** It was clicked, or `markRead()` was called since. */
  readonly isRead: boolean;
}

/** Newest first. */
export async function readHistory(scope: string): Promise<readonly HistoryEntry[]> {
  return (await inStore('readonly', readEntries(scope)))?.map(([, entry]) => entry).toReversed() ?? [];
}

export async function addToHistory(scope: string, limit: number, message: PushMessage): Promise<void> {
  await inStore('readwrite', async (store) => {
    const entries = await readEntries(scope)(store);
    const { id } = message;
    const isDeliveredAgain = entries.some(([, entry]) => id !== undefined && entry.id === id);
    if (isDeliveredAgain) return;
    const [, , lastNumber = 0] = entries.at(-1)?.[0] ?? [];
    const key: Key = [scope, kind, lastNumber + 1];
    store.put({ ...message, isRead: false }, key);
    const keys = [...entries.map(([former]) => former), key];
    for (const former of keys.slice(0, Math.max(0, keys.length - limit))) store.delete(former);
  });
}

/** @param receivedAtMs of the notification that was read; without it, all are marked */
export async function markAsRead(scope: string, receivedAtMs?: number): Promise<void> {
  await inStore('readwrite', async (store) => {
    for (const [key, entry] of await readEntries(scope)(store)) {
      if ((receivedAtMs ?? entry.receivedAtMs) === entry.receivedAtMs)
        store.put({ ...entry, isRead: true }, key);
    }
  });
}

export async function clearHistory(scope: string): Promise<void> {
  await inStore('readwrite', async (store) => void store.delete(allOf(scope)));
}

const kind = 'history';
type Key = [scope: string, kind: string, number: number];

/** An array sorts after any number. */
const allOf = (scope: string): IDBKeyRange => IDBKeyRange.bound([scope, kind], [scope, kind, []]);

/** Oldest first. */
const readEntries =
  (scope: string) =>
  async (store: IDBObjectStore): Promise<readonly (readonly [Key, HistoryEntry])[]> => {
    const keys = resultOf(store.getAllKeys(allOf(scope)));
    const entries: readonly HistoryEntry[] = await resultOf(store.getAll(allOf(scope)));
    return ((await keys) as Key[]).map((key, index) => [key, entries[index]!]);
  };
