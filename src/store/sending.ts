// Whether a store sends by itself. A copy of a store (restored, or made of its disk) must not send what the original sends, so
// its sending is paused until somebody resumes it: schedules and webhook events wait, and the broadcasts that were running are
// paused, with all that is still to be tried again. What somebody sends by a command or a request is sent. Types only.

/** `restored`: the store was made of a backup. `asked`: somebody has paused it. */
export type PauseReason = 'restored' | 'asked';

export interface SendingPause {
  readonly sinceMs: number;
  readonly reason: PauseReason;
  /** That were running or scheduled then, and were paused. */
  readonly broadcastIds: readonly number[];
}

export interface Sending {
  /** @returns `undefined` where the store sends by itself */
  findPause(): Promise<SendingPause | undefined>;
  /** Pauses it, and every broadcast that is not over. Where it is paused already, broadcasts that run since then are added. */
  pause(reason: PauseReason): Promise<SendingPause>;
  /**
   * Has schedules and webhook events go on.
   *
   * @param options.withBroadcasts the broadcasts that were paused with it go on too, unless they are over
   * @returns those
   */
  resume(options: { readonly withBroadcasts: boolean }): Promise<readonly number[]>;
}
