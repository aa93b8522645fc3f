// A process of its own that posts to one origin and says how much memory that costs: `argv[2]` is the origin,
// `argv[3]` the number of requests. Told anything, it answers with the bytes in use beyond those at its start.
import { setImmediate as turn } from 'node:timers/promises';

import { createTransport } from '../../src/transport/create-transport.ts';
import { pushBody, pushHeaders } from './sending.ts';

const [, , origin = '', requests = ''] = process.argv;

function bytesInUse(): number {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const transport = createTransport({ pushServices: [origin], responseTimeoutMs: 600_000 });
const bytesAtStart = bytesInUse();
for (let count = 0; count < Number(requests); count += 1) {
  transport.send({ origin, path: '/', headers: pushHeaders, body: pushBody }, () => {});
}

process.on('message', async () => {
  // What has come is read first.
  for (let count = 0; count < 100; count += 1) await turn();
  process.send?.(bytesInUse() - bytesAtStart);
});
