// To be run by `addresses.test.ts` where `argv[2]` is the address of the only DNS server. Writes what comes of a message to a
// push service that the operator has listed, while hosts of strangers with a silent DNS server are looked up, and of one to a
// stranger's host at a loopback address.
import { createServer } from 'node:http';

import { createTransport } from '../../src/transport/create-transport.ts';
import { until } from '../../tools/until.ts';
import { startDnsServer } from './dns-server.ts';
import { startServer } from './peers.ts';
import { describe, sendOne } from './sending.ts';

const strangers = 8;
const dns = await startDnsServer(process.argv[2], 53);
const peer = await startServer(
  createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(201).end());
  }),
  'http',
);
const listed = `http://listed.example.org:${new URL(peer.origin).port}`;
const transport = createTransport({ pushServices: ['public', listed], connectTimeoutMs: 3000 });
for (let number = 0; number < strangers; number += 1) {
  void sendOne(transport, `https://h${number}.silent.example.org`);
}
await until(() => dns.asked.length > 0, 'the first look-up');
const result = await sendOne(transport, listed);
const stranger = await sendOne(transport, 'https://inside.example.org');
console.log(describe(result), describe(stranger));
await transport.close(0);
await peer.close();
dns.close();
