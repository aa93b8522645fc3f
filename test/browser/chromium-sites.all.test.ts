// What sites bring with them, in the installed Chromium: cookies, invitations, messages and service workers of their own.
import { chromium, skipWithout } from '../../scripts/install-test-tools.ts';
import { startChromium } from '../../tools/browser/chromium.ts';
import { createBrowserTests } from './browser-test.ts';
import { testCookies } from './cookie-suite.ts';
import { testInvitations } from './invitation-suite.ts';
import { testNotifications } from './notification-suite.ts';
import { testOwnWorkers } from './own-worker-suite.ts';
import { testPreferences } from './preferences-suite.ts';

const browserTest = createBrowserTests(startChromium, skipWithout('the Chromium tests', [chromium]));
testCookies(browserTest);
testInvitations(browserTest);
testPreferences(browserTest, ['light', 'dark']);
testNotifications(browserTest, []);
// Blocked and allowed again: both subscriptions are empty.
testOwnWorkers(browserTest, 'changed false false');
