// `maxRate`: how limits are written, and that all who deliver keep them together without holding others up.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { createSender } from '../../src/delivery/sender.ts';
import { parseMaxRates } from '../../src/delivery/settings/settings.ts';
import { assertDone, openBroadcastBench, timesReceived, vapid, vapidKeys } from './broadcast-bench.ts';
import { startSendingChild } from './start-sending-child.ts';
import { until } from '../../tools/until.ts';

describe('a rate limit', () => {
  test('names a host or an origin, and a number per second, minute or hour', () => {
    const limits = [
      'fcm.googleapis.com=500/s',
      'https://push.example.org:8443=30/min',
      'http://[::1]:80=1/h',
    ];
    assert.deepEqual(Object.fromEntries(parseMaxRates(limits)), {
      'https://fcm.googleapis.com': 500,
      'https://push.example.org:8443': 0.5,
      'http://[::1]': 1 / 3600,
    });
    for (const wrong of [
      'fcm.googleapis.com',
      'a=0/s',
      'a=5',
      'a=5/d',
      '=5/s',
      '*.a=5/s',
      'a/b=5/s',
      'a=-5/s',
    ]) {
      assert.throws(() => parseMaxRates([wrong]), {
        code: 'ERR_CONFIGURATION',
        message: /fcm\.googleapis\.com=500\/s/,
      });
    }
    const options = { vapid, maxRate: ['a=5'] };
    assert.throws(() => createSender(options), { code: 'ERR_CONFIGURATION' });
  });

  test('is kept by two processes together, and one has all of it once the other is killed', async () => {
    await using bench = await openBroadcastBench();
    const rows = 90;
    const perSecond = 60;
    const pushService = await bench.startPushService({ rows });
    const startedMs = performance.now();
    const start = () =>
      startSendingChild({
        address: bench.store.address,
        origin: pushService.origin,
        vapidKeys,
        options: { threads: 0, maxRate: [`${pushService.origin}=${perSecond}/s`] },
      });
    const messages = () => pushService.tallySinks()[0]?.messages ?? 0;
    const [killed, other] = [start(), start()];
    const ended = once(other, 'exit');
    await until(() => messages() >= rows / 3 || other.exitCode !== null, 'a third of the messages');
    killed.kill('SIGKILL');
    assert.deepEqual(await ended, [0, null]);
    const most = perSecond / 4 + (perSecond * (performance.now() - startedMs)) / 1000;
    assert.ok(messages() <= most, `${messages()} messages where ${most} may be`);
    assertDone((await bench.store.broadcasts.find(1))!, { accepted: rows });
    assert.equal(timesReceived(pushService)[0] ?? 0, 0, 'nobody is left out');
  });
});
