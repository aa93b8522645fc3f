// A short fuzz run over the description document; soak/service-fuzz.test.ts is the long one.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, test } from 'node:test';
import { createSessionCookie } from '../../src/service/demonstration/session.ts';
import { fuzz, fuzzFitting } from './description-fuzz.ts';
import { startService } from './running-service.ts';

const receipts = { receiptKey: new Uint8Array(32), receiptsPerMinute: 'off' } as const;

describe('the service', () => {
  test('answers nothing that its description does not describe, and no 5xx', async (t) => {
    const service = await startService({ authenticate: ['get'], channels: true, ...receipts }, t);
    const session = await createSessionCookie({ sessionKey: service.sessionKey, value: 'fuzz' });
    const seed = randomInt(2 ** 31);
    t.diagnostic(`seed ${seed}`);
    const answers = await fuzz({ base: service.base, ...session }, { runs: 2000, seed });
    const statuses = new Set(Array.from(answers.keys(), (name) => Number(name.split(' ').at(-1))));
    for (const status of [200, 204, 304, 400, 403, 404, 413, 415]) {
      assert.ok(statuses.has(status), `${status} was among the answers`);
    }
  });

  test('takes every request that fits its description', async (t) => {
    const pushServices = ['http://127.0.0.1:8090', 'https://[::1]:8443', 'https://*.push.example.org'];
    const service = await startService({ authenticate: 'all', pushServices, ...receipts }, t);
    const session = await createSessionCookie({ sessionKey: service.sessionKey, value: 'fuzz' });
    const seed = randomInt(2 ** 31);
    t.diagnostic(`seed ${seed}`);
    const answers = await fuzzFitting({ base: service.base, ...session }, { runs: 1500, seed });
    for (const answer of [
      'POST /webPush 200',
      'POST /webPush 409',
      'DELETE /webPush 204',
      'POST /webPush/receipts 204',
      'GET /api/getWithArg/{arg} 200',
      'POST /api/post 200',
      'PUT /v1/user/{user_id} 404',
    ]) {
      assert.ok(answers.has(answer), `${answer} was among the answers`);
    }
  });
});
