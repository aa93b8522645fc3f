// Subscribing, receiving, renewing, preferences and console in the installed Firefox, with the local push service;
// `firefox.all.test.ts` has the rest.
import { firefox, skipWithout } from '../../scripts/install-test-tools.ts';
import { testDemoPage } from './demo-page-suite.ts';
import { testConsole } from './console-suite.ts';
import { createBrowserTests } from './browser-test.ts';
import { testChoosing } from './preferences-suite.ts';
import { startFirefox } from '../../tools/browser/firefox.ts';

const tests = createBrowserTests(['browserTest'], startFirefox, skipWithout('the Firefox tests', [firefox]));
testDemoPage(tests);
testConsole(tests);
testChoosing(tests.browserTest);
