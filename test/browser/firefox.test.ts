// The demo page in the installed Firefox, with the local push service.
import assert from 'node:assert/strict';
import { firefox, skipWithout } from '../../scripts/install-test-tools.ts';
import { startBackend } from './backend.ts';
import { openDemoPage, press, textOf } from './demo-page.ts';
import { testDemoPage } from './demo-page-suite.ts';
import { createFacts } from './facts.ts';
import { startFirefoxSetting } from './firefox.ts';

const fact = createFacts(startFirefoxSetting, skipWithout('the Firefox tests', [firefox]));
testDemoPage(fact);

fact('a refusal by the server is told with its reason, also on the console', async ({ setting, permit }) => {
  // This one does not admit the push service that this Firefox has.
  await using strangers = await startBackend({ pushServices: [] });
  await permit(strangers.url, 'granted');
  const complaints: string[] = [];
  const page = await openDemoPage(setting.browser, strangers.url, complaints);
  await press(page, 'Subscribe');
  assert.match(complaints.join('\n'), /Deskbell: localhost:\d+ answered 400: .*endpoint/);
  assert.match(await textOf(page, '#failure'), /^The server refused.*answered 400: .*endpoint/);
  assert.equal(await textOf(page, '#headline'), 'Subscribed, but the server has not confirmed it');
});
