// A request that has no body costs no stream, though Node says that it has been read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Fastify from 'fastify';
import { acceptConsumedBodies } from '../../src/http/json-body.ts';

test('no stream is made for a request without a body', async (t) => {
  // as createHttpServer has it
  const app = Fastify({ http: { optimizeEmptyRequests: true } as object });
  t.after(() => app.close());
  acceptConsumedBodies(app);
  const seen: unknown[] = [];
  app.addHook('preParsing', (request, _reply, payload, done) => {
    seen.push([request.method, (payload as unknown) === request.raw]);
    done(null, payload);
  });
  app.all('/', async () => 'answer');
  const url = await app.listen();
  for (const method of ['GET', 'POST']) assert.equal(await (await fetch(url, { method })).text(), 'answer');
  assert.deepEqual(seen, [
    ['GET', true],
    ['POST', true],
  ]);
});
