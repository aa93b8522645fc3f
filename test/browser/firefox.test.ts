// The demo page in the installed Firefox, with the local push service.
import assert from 'node:assert/strict';
import { firefox, skipWithout } from '../../scripts/install-test-tools.ts';
import { startBackend } from './backend.ts';
import { openDemoPage, press, received, textOf } from './demo-page.ts';
import { testDemoPage } from './demo-page-suite.ts';
import { createFacts } from './facts.ts';
import { startFirefoxSetting } from './firefox.ts';
import { until } from './until.ts';

const fact = createFacts(startFirefoxSetting, skipWithout('the Firefox tests', [firefox]));
testDemoPage(fact);

fact(
  'when the push service gives a subscription up, the service worker subscribes anew by itself',
  async (stage) => {
    const { setting, backend, openSubscribed } = stage;
    const page = await openSubscribed();
    const [former] = await backend.subscriptions();

    // A push service that has forgotten everything: Firefox drops its subscriptions and tells the service worker.
    await setting.breakPushService();
    await setting.mendPushService();

    await until(
      async () => {
        const rows = await backend.subscriptions();
        return rows.length === 1 && rows[0]!.endpoint !== former!.endpoint;
      },
      () => 'There is no new subscription in place of the former one.',
    );
    assert.deepEqual(await backend.sendToAll({ title: 'Again', message: 'anew' }), { accepted: 1 });
    assert.deepEqual(await received(page, 1), ['Again: anew']);
  },
);

fact('a refusal by the server is told with its reason', async ({ setting, permit }) => {
  // This one does not admit the push service that this Firefox has.
  await using strangers = await startBackend({ pushServices: [] });
  await permit(strangers.url, 'granted');
  const page = await openDemoPage(setting.browser, strangers.url);
  await press(page, 'Subscribe');
  assert.match(await textOf(page, '#failure'), /^The server refused.*answered 400: .*endpoint/);
  assert.equal(await textOf(page, '#headline'), 'Subscribed, but the server has not confirmed it');
});
