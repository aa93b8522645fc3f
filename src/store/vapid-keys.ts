// The public halves of VAPID pairs, and which of them services offer: what all processes on a database agree on. The private
// halves are in files (`keys/key-ring.ts`). Types only.
//
//   next → current → previous → retired
//
// A key becomes `next` when its pair is where every sender finds it, and only then `current`: no browser subscribes with a
// key that a sender cannot sign with.

/**
 * `next`: senders can sign with it; no service offers it yet. `current`: services offer it. `previous`: subscriptions that
 * were made with it are still taken and sent to. `retired`: its private half is removed.
 */
export type VapidKeyState = 'next' | 'current' | 'previous' | 'retired';

export interface StoredVapidKey {
  /** 87 characters of unpadded base64url. */
  readonly publicKey: string;
  /** `undefined` for a key that subscriptions name and that was never one of ours. */
  readonly state: VapidKeyState | undefined;
}

export interface VapidKeyStore {
  /** In the order in which they were first named. */
  list(): Promise<readonly StoredVapidKey[]>;
  /** The key that services offer. */
  current(): Promise<string | undefined>;
  /** How many subscriptions were made with each key; keys without any are left out. */
  countSubscriptions(): Promise<ReadonlyMap<string, number>>;
  /** Makes the key `current` where there is no current one. @returns the current key */
  adopt(publicKey: string): Promise<string>;
  /** Makes the key `next` where there is no next one. @returns the key that is next */
  prepare(publicKey: string): Promise<string>;
  /** Makes the key `current`, and the one that is `previous`. */
  makeCurrent(publicKey: string): Promise<void>;
  /**
   * Makes the key `retired`, unless subscriptions were made with it and `force` is false.
   *
   * @returns how many subscriptions there are
   * @throws {DeskbellError} ERR_KEY_IN_USE for the current key
   */
  retire(publicKey: string, options: { readonly force: boolean }): Promise<number>;
  /** Makes the key `current` and retires all others of ours. */
  replaceAll(publicKey: string): Promise<void>;
}
