// `deskbell/react`: gives React components the state of this browser. It uses the application's copy of React.
'use client';

import { useEffect, useState, useSyncExternalStore } from 'react';
import { isInBrowser } from './client-error.ts';
import type {
  Channel,
  Choices,
  Client,
  ClientError,
  ClientState,
  FailureReason,
  PushMessage,
  SubscribeOptions,
} from './index.ts';

const maxMessages = 100;

/** The result of `usePush`. */
export interface Push {
  /** `unknown` on a server and until the browser has been asked. If `unavailable`, `reason` says why. */
  readonly state: 'unknown' | 'unsubscribed' | 'subscribed' | 'unavailable';
  /** Why this browser cannot be subscribed, or why the last call failed. */
  readonly reason: FailureReason | undefined;
  /** The error of the last call. Its message says more than `reason`. */
  readonly error: ClientError | undefined;
  /**
   * Calls `Client.subscribe`. Sets `reason` instead of rejecting. Call this function from a click.
   *
   * @returns true on success
   */
  subscribe(options?: SubscribeOptions): Promise<boolean>;
  /**
   * Calls `Client.unsubscribe`. Sets `reason` instead of rejecting.
   *
   * @returns true on success
   */
  unsubscribe(): Promise<boolean>;
  /** True while `subscribe`, `unsubscribe` or `setChannels` is in progress. */
  readonly isBusy: boolean;
  /** Undefined if the channels were not requested, or are not known yet. */
  readonly channels: readonly Channel[] | undefined;
  /**
   * Calls `Client.setChannels`. Sets `reason` instead of rejecting.
   *
   * @returns true on success
   */
  setChannels(choices: Choices): Promise<boolean>;
  /** The last 100 messages that arrived while a component of this page used the client, newest last. */
  readonly messages: readonly PushMessage[];
}

/** `usePush` takes these options, which all have defaults. */
export interface UsePushOptions {
  /** Also asks the service for the reader's channels. Default: false. */
  readonly channels?: boolean;
}

/**
 * Returns this browser's state, and functions to change it. All components with the same client share this state.
 *
 * @param client a client that was created in a module, not in a component
 * @example
 * const { state, subscribe } = usePush(client);
 */
export function usePush(client: Client, { channels: hasChannels = false }: UsePushOptions = {}): Push {
  // On a server, React's hooks would change nothing, and they fail if the framework renders with its own copy of React.
  if (!isInBrowser) return storeOf(client).readOnServer();
  const [store] = useState(() => storeOf(client));
  const push = useSyncExternalStore(store.listen, store.read, store.readOnServer);
  const isAsked = hasChannels && push.state === 'subscribed';
  useEffect(() => {
    if (isAsked) void store.read().setChannels({});
  }, [store, isAsked]);
  return push;
}

interface PushStore {
  listen(listener: () => void): () => void;
  read(): Push;
  readOnServer(): Push;
}

const stores = new WeakMap<Client, PushStore>();

function storeOf(client: Client): PushStore {
  const store = stores.get(client) ?? createStore(client);
  stores.set(client, store);
  return store;
}

function createStore(client: Client): PushStore {
  const listeners = new Set<() => void>();
  let running = 0;
  const change = (changes: Partial<Push>): void => {
    push = { ...push, ...changes };
    for (const listener of listeners) listener();
  };
  const attempt = async (work: () => Promise<unknown>): Promise<boolean> => {
    running += 1;
    change({ isBusy: true });
    try {
      await work();
      change({ error: undefined });
      await look();
      return true;
    } catch (error) {
      const { reason } = error as ClientError;
      change({ error: error as ClientError, reason });
      await look();
      return false;
    } finally {
      running -= 1;
      change({ isBusy: running > 0 });
    }
  };
  const look = async (): Promise<void> => change(stateOf(await client.state(), push));
  const lookAgain = (): void => void look();
  const receive = ({ data }: MessageEvent<PushMessage>): void =>
    change({ messages: [...push.messages, data].slice(-maxMessages) });
  const setChannels: Push['setChannels'] = (choices) =>
    attempt(async () => change({ channels: await client.setChannels(choices) }));

  const atFirst: Push = {
    state: 'unknown',
    reason: undefined,
    error: undefined,
    subscribe: (options) => attempt(() => client.subscribe({ invitation: options?.invitation })),
    unsubscribe: () => attempt(() => client.unsubscribe()),
    isBusy: false,
    channels: undefined,
    setChannels,
    messages: [],
  };
  let push = atFirst;
  return {
    read: () => push,
    readOnServer: () => atFirst,
    listen(listener) {
      if (listeners.size === 0) {
        client.addEventListener('change', lookAgain);
        client.addEventListener('message', receive);
        // catch up with changes that happened before the listeners were added
        client.synced.then(lookAgain, lookAgain);
      }
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        client.removeEventListener('change', lookAgain);
        client.removeEventListener('message', receive);
      };
    },
  };
}

function stateOf({ obstacle, isStored }: ClientState, { error }: Push): Pick<Push, 'state' | 'reason'> {
  if (isStored) return { state: 'subscribed', reason: error?.reason };
  return { state: obstacle ? 'unavailable' : 'unsubscribed', reason: error?.reason ?? obstacle };
}
