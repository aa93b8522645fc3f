// What sites bring with them, in the installed Firefox: cookies, invitations, messages and service workers of their own. And the
// console in dark colours, which cannot be chosen later than at the start.
import { firefox, skipWithout } from '../../scripts/install-test-tools.ts';
import { startFirefox } from '../../tools/browser/firefox.ts';
import { createBrowserTests } from './browser-test.ts';
import { testConsolePages } from './console-pages-suite.ts';
import { testCookies } from './cookie-suite.ts';
import { testInvitations } from './invitation-suite.ts';
import { testNotifications } from './notification-suite.ts';
import { testOwnWorkers } from './own-worker-suite.ts';
import { testPreferences } from './preferences-suite.ts';
import { testSubscribing } from './subscribe-suite.ts';

const { furtherTest } = createBrowserTests(
  ['furtherTest'],
  () => startFirefox({ isDark: true }),
  skipWithout('the Firefox tests', [firefox]),
);
testCookies(furtherTest);
testInvitations(furtherTest);
testPreferences(furtherTest, ['dark']);
testSubscribing(furtherTest, ['dark']);
testNotifications(furtherTest, ['image', 'badge', 'renotify', 'timestamp']);
testOwnWorkers(furtherTest, 'changed true false');
testConsolePages(furtherTest, ['dark'], ['in trouble']);
