// What sites bring with them, in the installed Chromium: cookies, invitations, messages and service workers of their own.
import { chromium, skipWithout } from '../../scripts/install-test-tools.ts';
import { startChromium } from '../../tools/browser/chromium.ts';
import { createBrowserTests } from './browser-test.ts';
import { testCookies } from './cookie-suite.ts';
import { testInvitations } from './invitation-suite.ts';
import { testNotifications } from './notification-suite.ts';
import { testOwnWorkers } from './own-worker-suite.ts';
import { testPreferences } from './preferences-suite.ts';
import { testSubscribing } from './subscribe-suite.ts';

const { furtherTest } = createBrowserTests(
  ['furtherTest'],
  startChromium,
  skipWithout('the Chromium tests', [chromium]),
);
testCookies(furtherTest);
testInvitations(furtherTest);
testPreferences(furtherTest, ['light', 'dark']);
testSubscribing(furtherTest, ['light', 'dark']);
testNotifications(furtherTest, []);
// Blocked and allowed again: both subscriptions are empty.
testOwnWorkers(furtherTest, 'changed false false');
