// Subscribing, receiving, renewing, preferences and console in the installed Firefox, with the local push service;
// `firefox.all.test.ts` has the rest.
import assert from 'node:assert/strict';
import { firefox, skipWithout } from '../../scripts/install-test-tools.ts';
import { startBackend } from '../../tools/browser/backend.ts';
import { openDemoPage, press, textOf } from '../../tools/browser/demo-page.ts';
import { testDemoPage } from './demo-page-suite.ts';
import { testConsole } from './console-suite.ts';
import { createBrowserTests } from './browser-test.ts';
import { testChoosing } from './preferences-suite.ts';
import { startFirefox } from '../../tools/browser/firefox.ts';

const tests = createBrowserTests(['browserTest'], startFirefox, skipWithout('the Firefox tests', [firefox]));
testDemoPage(tests);
testConsole(tests);
testChoosing(tests.browserTest);

tests.browserTest(
  'a refusal by the server is told with its reason, also on the console',
  async ({ testBrowser, permit }) => {
    // This one does not admit the push service that this Firefox has.
    await using strangers = await startBackend({ pushServices: [] });
    await permit(strangers.url, 'granted');
    const consoleErrors: string[] = [];
    const page = await openDemoPage(testBrowser.browser, strangers.url, consoleErrors);
    await press(page, 'Subscribe');
    assert.match(
      consoleErrors.join('\n'),
      /Deskbell: POST http:\/\/localhost:\d+\/webPush answered 400: .*endpoint/,
    );
    assert.match(await textOf(page, '#failure'), /answered 400: .*endpoint/);
    assert.equal(await textOf(page, '#headline'), 'Not subscribed');
  },
);
