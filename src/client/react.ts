// The public entry `deskbell/react`: where this browser stands, for components of React. React is the application's own.
'use client';

import { useEffect, useState, useSyncExternalStore } from 'react';
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

/** How many of the messages that have arrived are kept. */
const maxMessages = 100;

/** What `usePush` returns. */
export interface Push {
  /** `unknown` on a server, and until the browser has been asked. `unavailable`: see `reason`. */
  readonly state: 'unknown' | 'unsubscribed' | 'subscribed' | 'unavailable';
  /** Why this browser cannot be subscribed, or why the last call has failed. */
  readonly reason: FailureReason | undefined;
  /** That failure; its message says more. */
  readonly error: ClientError | undefined;
  /** As of the client, but never rejects: see `reason`. Call it from a click. @returns whether it has succeeded */
  subscribe(options?: SubscribeOptions): Promise<boolean>;
  /** As of the client, but never rejects: see `reason`. @returns whether it has succeeded */
  unsubscribe(): Promise<boolean>;
  /** Undefined unless they were asked for, and until they are known. */
  readonly channels: readonly Channel[] | undefined;
  /** As of the client, but never rejects: see `reason`. @returns whether it has succeeded */
  setChannels(choices: Choices): Promise<boolean>;
  /** The last 100 that have arrived while a component of this page used the client, the newest last. */
  readonly messages: readonly PushMessage[];
}

/** All of them have defaults. */
export interface UsePushOptions {
  /** Whether to ask the service for the reader's channels. Default: false. */
  readonly channels?: boolean;
}

/**
 * Where this browser stands, and what may be done about it. All components with the same client have the same.
 *
 * @param client made in a module, not in a component
 * @example
 * const { state, subscribe } = usePush(client);
 */
export function usePush(client: Client, { channels: hasChannels = false }: UsePushOptions = {}): Push {
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
  const change = (changes: Partial<Push>): void => {
    push = { ...push, ...changes };
    for (const listener of listeners) listener();
  };
  const attempt = async (work: () => Promise<unknown>): Promise<boolean> => {
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
        // What has happened before anybody listened.
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
