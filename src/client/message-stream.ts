// The messages that a page receives, as an async iterable over its client's events.

/** A push message as this browser received it: `title`, `message`, and what else the sender gave. */
export interface PushMessage {
  readonly title: string;
  readonly message: string;
  /** Milliseconds since 1970, by this browser's clock. */
  readonly receivedAtMs: number;
  /** Tells one message that was delivered twice from two; where the sender asked to alert again. */
  readonly id?: string;
  /** Proves what the service worker reports of the message, where its sender asks for receipts. */
  readonly receipt?: string | undefined;
  /** What a click opens; this and the other URLs are absolute or relative to the service worker's scope. */
  readonly url?: string;
  readonly icon?: string;
  readonly image?: string;
  readonly badge?: string;
  readonly actions?: readonly PushMessageAction[];
  readonly tag?: string;
  readonly renotify?: boolean;
  readonly requireInteraction?: boolean;
  readonly silent?: boolean;
  /** When the event happened: milliseconds since 1970. */
  readonly timestamp?: number;
  readonly lang?: string;
  readonly dir?: NotificationDirection;
  /** Number on the icon of an installed web app. */
  readonly appBadge?: number;
  /** Any JSON value, for the page. */
  readonly data?: unknown;
}

/** A button of a notification. */
export interface PushMessageAction {
  readonly action: string;
  readonly title: string;
  readonly url?: string;
  readonly icon?: string;
}

/** Begins at once; ends when the loop over it is left. */
export function streamMessages(client: EventTarget): AsyncIterableIterator<PushMessage> {
  const listening = new AbortController();
  const reader = new ReadableStream<PushMessage>({
    start: (controller) => {
      const enqueue = (event: Event) => controller.enqueue((event as MessageEvent<PushMessage>).data);
      client.addEventListener('message', enqueue, { signal: listening.signal });
    },
    cancel: () => listening.abort(),
  }).getReader();
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: () => reader.read(),
    return: async () => {
      await reader.cancel();
      return { done: true, value: undefined };
    },
  };
}
