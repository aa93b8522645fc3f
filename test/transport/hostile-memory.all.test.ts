// What a hostile push service can make the sending process hold: nothing that grows with what it sends.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';

import { startServer } from './peers.ts';

const requests = 256;
/** For all requests together; what they and their connections need is a few MiB. */
const maxBytes = 16 * 2 ** 20;

const chunkedHead = 'HTTP/1.1 400 N\r\ntransfer-encoding: chunked\r\n\r\n';
const hostileAnswers: readonly (readonly [what: string, pieces: readonly string[]])[] = [
  [
    'a body of 4000 bytes in chunks of one byte behind long chunk extensions',
    [chunkedHead, ...Array.from({ length: 4000 }, () => `1;${'x'.repeat(250)}\r\na\r\n`)],
  ],
  [
    'a body of 4000 bytes in chunks of one byte',
    [chunkedHead, ...Array.from({ length: 4000 }, () => '1\r\na\r\n')],
  ],
  [
    'a header that never ends',
    ['HTTP/1.1 201 C\r\n', ...Array.from({ length: 150 }, () => `x: ${'y'.repeat(96)}\r\n`)],
  ],
  [
    'interim answers before a silence',
    Array.from({ length: 16 }, () => `HTTP/1.1 103 E\r\nx: ${'y'.repeat(16_000)}\r\n\r\n`),
  ],
  [
    'a body without end',
    [chunkedHead, ...Array.from({ length: 100 }, () => `4000\r\n${'z'.repeat(0x4000)}\r\n`)],
  ],
];

for (const [what, pieces] of hostileAnswers) {
  test(`memory stays bounded against ${what}`, async () => {
    let written = 0;
    const allWritten = Promise.withResolvers<void>();
    const server = createServer((socket) => {
      const sendAll = async (): Promise<void> => {
        for (const piece of pieces) {
          if (!socket.writable) break;
          if (!socket.write(piece)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
        }
        written += 1;
        if (written === 32) allWritten.resolve();
      };
      socket.once('data', () => void sendAll().catch(() => {}));
    });
    const peer = await startServer(server, 'http');
    const script = join(import.meta.dirname, 'memory-child.ts');
    const child = fork(script, [peer.origin, String(requests)], { execArgv: ['--expose-gc'] });
    try {
      await allWritten.promise;
      child.send('measure');
      const [bytes] = (await once(child, 'message')) as [number];
      assert.ok(bytes < maxBytes, `${(bytes / 2 ** 20).toFixed(1)} MiB`);
    } finally {
      child.kill();
      await once(child, 'exit');
      await peer.close();
    }
  });
}
