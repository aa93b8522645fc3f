// Events of the push service. An event names a subscription by the first characters of its token, because anyone who
// knows an endpoint can send to it.

/** An event for `onEvent`. */
export type PushServiceEvent =
  | { readonly type: 'connected'; readonly uaid: string; readonly isKnown: boolean }
  | { readonly type: 'disconnected'; readonly uaid: string }
  | { readonly type: 'registered'; readonly subscription: string }
  | { readonly type: 'unregistered'; readonly subscription: string }
  /** A request for a push or message resource was processed. An injected fault may prevent the response. */
  | {
      readonly type: 'answered';
      readonly method: string;
      readonly status: number;
      readonly subscription?: string;
    }
  | { readonly type: 'fault'; readonly kind: string; readonly subscription?: string }
  /**
   * The message was written to the user agent's connection. It is written again at each reconnect until the user agent
   * acknowledges it.
   */
  | { readonly type: 'delivered'; readonly subscription: string; readonly version: string }
  /** 100: delivered. 101: could not be decrypted. 102: not delivered. */
  | {
      readonly type: 'acknowledged';
      readonly subscription: string;
      readonly version: string;
      readonly code: number;
    }
  /** The user agent reported a failure later (`nack`), such as 302: the service worker's promise was rejected. */
  | { readonly type: 'reported'; readonly version: string; readonly code: number }
  | {
      readonly type: 'dropped';
      readonly subscription: string;
      readonly version: string;
      readonly why: 'expired' | 'replaced' | 'removed' | 'unregistered' | 'no-connection';
    };

export interface EventCounts {
  readonly events: Readonly<Partial<Record<PushServiceEvent['type'], number>>>;
  readonly answers: Readonly<Record<number, number>>;
}

export type EventLog = ReturnType<typeof createEventLog>;

export function createEventLog(onEvent: ((event: PushServiceEvent) => void) | undefined) {
  const events: Partial<Record<PushServiceEvent['type'], number>> = {};
  const answers: Record<number, number> = {};
  return {
    record(event: PushServiceEvent): void {
      events[event.type] = (events[event.type] ?? 0) + 1;
      if (event.type === 'answered') answers[event.status] = (answers[event.status] ?? 0) + 1;
      onEvent?.(event);
    },
    counts: (): EventCounts => ({ events: { ...events }, answers: { ...answers } }),
  };
}
