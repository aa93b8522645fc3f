// Data for each registration that the page library stores and the service worker needs while no page is open.
import { inStore, resultOf } from './database.ts';
import type { Choices } from './service-api.ts';

export interface StoredState {
  /** The folder of the Deskbell service. */
  readonly serviceUrl?: string;
  /** The page that subscribed: relative URLs of messages are relative to it. */
  readonly pageUrl?: string;
  /**
   * The request body with which the subscription was last stored, undefined if this browser is not subscribed. If the
   * push service drops the subscription, it says that the browser wants one, and which row of the service to replace.
   */
  readonly storedBody?: string | undefined;
  /** The one that it has replaced. */
  readonly formerBody?: string | undefined;
  /** Choices of channels that the service has not taken yet. */
  readonly choices?: Choices | undefined;
  readonly historyLimit?: number;
  /** Path of the last activated script that contains Deskbell. */
  readonly scriptPath?: string;
}

export async function readState(scope: string): Promise<StoredState> {
  return (await inStore('readonly', (store) => read(store, scope))) ?? {};
}

/** Changes, or a function that makes them from the current state. */
export type StateChanges = StoredState | ((state: StoredState) => StoredState);

export async function updateState(scope: string, changes: StateChanges): Promise<void> {
  await inStore('readwrite', async (store) => {
    const state = (await read(store, scope)) ?? {};
    store.put({ ...state, ...(typeof changes === 'function' ? changes(state) : changes) }, keyOf(scope));
  });
}

const keyOf = (scope: string): IDBValidKey => [scope, 'state'];

const read = (store: IDBObjectStore, scope: string): Promise<StoredState | undefined> =>
  resultOf(store.get(keyOf(scope)));
