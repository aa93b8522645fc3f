// The demo page in the installed Firefox, with the local push service.
import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { firefox, missingSentence } from '../../scripts/install-browsers.ts';
import { startPushService } from '../../src/push-service/index.ts';
import { startBackend } from './backend.ts';
import { openDemoPage, press, received, textOf } from './demo-page.ts';
import { testDemoPage } from './demo-page-suite.ts';
import { createFacts, type Setting } from './facts.ts';
import { launchFirefox } from './firefox.ts';

const fact = createFacts(startSetting, missingSentence('the Firefox tests', [firefox]));
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

    for (const untilMs = Date.now() + 30_000; Date.now() < untilMs; await setTimeout(50)) {
      if ((await backend.subscriptions()).some(({ endpoint }) => endpoint !== former!.endpoint)) break;
    }
    assert.ok((await backend.sendToAll({ title: 'Again', message: 'anew' })).includes('accepted'));
    assert.deepEqual(await received(page, 1), ['Again: anew']);
  },
);

fact('a refusal by the server is told with its reason', async ({ setting, permit }) => {
  // This one does not admit the push service that this Firefox has.
  const strangers = await startBackend({ pushServices: [] });
  await permit(strangers.url, 'granted');
  const page = await openDemoPage(setting.browser, strangers.url);
  await press(page, 'Subscribe');
  assert.match(await textOf(page, '#failure'), /^The server refused.*answered 400: .*endpoint/);
  assert.equal(await textOf(page, '#headline'), 'Subscribed, but the server has not confirmed it');
  await strangers.close();
});

async function startSetting(): Promise<Setting> {
  let pushService = await startPushService();
  const { origin, port, webSocketUrl } = pushService;
  const browser = await launchFirefox(webSocketUrl);
  return {
    browser,
    access: { pushServices: [origin] },
    breakPushService: () => pushService.close(),
    async mendPushService() {
      pushService = await startPushService({ port });
    },
    async close() {
      await browser.close();
      await pushService.close();
    },
  };
}
