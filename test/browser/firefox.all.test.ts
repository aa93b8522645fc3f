// The rest of the tests of demo page and console in the installed Firefox, with the local push service; `firefox-sites.all.test.ts` has
// those of other sites.
import { firefox, skipWithout } from '../../scripts/install-test-tools.ts';
import { startFirefox } from '../../tools/browser/firefox.ts';
import { createBrowserTests } from './browser-test.ts';
import { testConsolePages } from './console-pages-suite.ts';
import { testConsole } from './console-suite.ts';
import { testPreferences } from './preferences-suite.ts';
import { testDemoPage } from './demo-page-suite.ts';

const tests = createBrowserTests(
  ['chromiumTest', 'furtherTest'],
  startFirefox,
  skipWithout('the Firefox tests', [firefox]),
);
testDemoPage(tests);
testConsole(tests);
testPreferences(tests.furtherTest, ['light']);
testConsolePages(tests.furtherTest, ['light'], ['in trouble']);
