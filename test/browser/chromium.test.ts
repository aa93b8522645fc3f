// Subscribing, receiving, renewing, preferences and console in the installed Chromium, with a local stand-in for its push transport;
// `chromium.all.test.ts` has the rest.
import { chromium, skipWithout } from '../../scripts/install-test-tools.ts';
import { startChromium } from '../../tools/browser/chromium.ts';
import { createBrowserTests } from './browser-test.ts';
import { testConsole } from './console-suite.ts';
import { testDemoPage } from './demo-page-suite.ts';
import { testChoosing } from './preferences-suite.ts';

const tests = createBrowserTests(
  ['browserTest', 'chromiumTest'],
  startChromium,
  skipWithout('the Chromium tests', [chromium]),
);
testDemoPage(tests);
testConsole(tests);
testChoosing(tests.browserTest);
