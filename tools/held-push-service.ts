// A push service that answers as many requests as it is let: what is sent to it is under way for as long as a test needs.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HeldPushService extends AsyncDisposable {
  readonly origin: string;
  /** Accepts so many more messages: those that wait, and those to come. */
  letThrough(messages: number): void;
}

export async function startHeldPushService(): Promise<HeldPushService> {
  const waiting: (() => void)[] = [];
  let room = 0;
  const answer = (): void => {
    for (; room > 0 && waiting.length > 0; room -= 1) waiting.shift()!();
  };
  const server = createServer((request, response) => {
    request.resume();
    waiting.push(() => response.writeHead(201, { 'content-length': '0' }).end());
    answer();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    letThrough(messages) {
      room += messages;
      answer();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
