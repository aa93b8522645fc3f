// A short fuzz run over the description document; soak/service-fuzz.test.ts is the long one.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { describe, test } from 'node:test';
import { createSessionCookie } from '../../src/service/demonstration/session-cookie.ts';
import { fuzz } from './description-fuzz.ts';
import { startService } from './running-service.ts';

describe('the service', () => {
  test('answers nothing that its description does not describe, and no 5xx', async (t) => {
    const service = await startService({ authenticate: ['get'] }, t);
    const session = await createSessionCookie({ sessionKey: service.sessionKey, value: 'fuzz' });
    const seed = randomInt(2 ** 31);
    t.diagnostic(`seed ${seed}`);
    const statuses = await fuzz({ base: service.base, ...session }, { runs: 2000, seed });
    for (const status of [200, 204, 304, 400, 403, 404, 413, 415]) {
      assert.ok(statuses.has(status), `${status} was among the answers`);
    }
  });
});
