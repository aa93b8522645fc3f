// What this browser keeps for each registration of a service worker: what the page library knows and the service worker
// must know, also while no page is open.
import { inStore, resultOf } from './database.ts';
import type { Choices } from './service-api.ts';

export interface StoredState {
  /** The folder of the Deskbell service. */
  readonly serviceUrl?: string;
  /** The page that subscribed: relative URLs of messages are relative to it. */
  readonly pageUrl?: string;
  /**
   * The request body by which the service stored the subscription last. It says that this browser is to be subscribed,
   * also after the push service has dropped the subscription, and which row of the service to replace then. Undefined
   * where this browser is not subscribed.
   */
  readonly storedBody?: string | undefined;
  /** What was chosen of channels, until the service has taken it. */
  readonly choices?: Choices | undefined;
  /** How many notifications `history()` keeps. */
  readonly historyLimit?: number;
  /** Path of the script that was activated last and has Deskbell in it. */
  readonly scriptPath?: string;
}

/** @param scope of the registration */
export async function readState(scope: string): Promise<StoredState> {
  return (await inStore('readonly', (store) => read(store, scope))) ?? {};
}

/** Changes to what is kept, or what makes them of it as it is then. */
export type StateChanges = StoredState | ((state: StoredState) => StoredState);

/** Changes these members and leaves the others. */
export async function updateState(scope: string, changes: StateChanges): Promise<void> {
  await inStore('readwrite', async (store) => {
    const state = (await read(store, scope)) ?? {};
    store.put({ ...state, ...(typeof changes === 'function' ? changes(state) : changes) }, keyOf(scope));
  });
}

const keyOf = (scope: string): IDBValidKey => [scope, 'state'];

const read = (store: IDBObjectStore, scope: string): Promise<StoredState | undefined> =>
  resultOf(store.get(keyOf(scope)));
