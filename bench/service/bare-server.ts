// The yardstick: `node:http` answering a fixed JSON string to everything, after reading the body and doing nothing.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const body = JSON.stringify('x'.repeat(87));

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': body.length,
    });
    response.end(body);
  });
});

server.listen(0, '127.0.0.1', () => {
  console.log(`Bare server listens on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
