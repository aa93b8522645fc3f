import type { PushMessage } from './push-message.ts';

/** A page's messages as an async iterable. Begins at once; ends when the loop is left. */
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
