// The messages that a page receives, as an async iterable over its client's events.
import type { PushMessage } from './push-message.ts';

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
