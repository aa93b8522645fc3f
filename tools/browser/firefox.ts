// Starts the installed Firefox, told to use a local push service.
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { launch } from 'puppeteer-core';
import { find, firefox } from '../../scripts/install-test-tools.ts';
import { startPushService } from '../../src/push-service/index.ts';
import { fastFolder } from '../fast-folder.ts';
import { freePort } from '../listening.ts';
import type { TestBrowser } from './test-browser.ts';
import { until } from '../until.ts';
import { addFirefoxCache, keepFirefoxCache } from './firefox-cache.ts';

export interface FirefoxOptions {
  /** A desktop that shows notifications; without one Firefox has no window and shows them itself. */
  readonly desktopEnvironment?: NodeJS.ProcessEnv;
  /** Prefers dark pages. */
  readonly isDark?: boolean;
}

export async function startFirefox({
  desktopEnvironment,
  isDark = false,
}: FirefoxOptions = {}): Promise<TestBrowser> {
  // closed for a while and opened again
  const port = await freePort();
  let pushService = await startPushService({ port });
  const { origin, webSocketUrl } = pushService;
  const executablePath = find(firefox)!;
  const userDataDir = await mkdtemp(join(fastFolder(), 'deskbell-firefox-'));
  await addFirefoxCache(executablePath, userDataDir);
  const browser = await launch({
    browser: 'firefox',
    userDataDir,
    executablePath,
    headless: desktopEnvironment === undefined,
    env: desktopEnvironment ?? process.env,
    extraPrefsFirefox: {
      'dom.push.serverURL': webSocketUrl,
      'dom.push.testing.allowInsecureServerURL': true,
      // Automation switches push off unless it is asked for.
      'dom.push.connection.enabled': true,
      'dom.push.retryBaseInterval': 300,
      'dom.push.requestTimeout': 3000,
      // Those that Firefox shows itself are queued beyond the third.
      'alerts.useSystemBackend': desktopEnvironment !== undefined,
      'dom.webnotifications.requireinteraction.count': 100,
      // Automation makes every page believe that it has the focus; then none is brought to the front.
      'focusmanager.testmode': desktopEnvironment === undefined,
      'network.dns.disabled': true,
      // nobody sees them: a seventh of the processor time of the tests
      'layout.frame_rate': 10,
      // processes for pages that are never opened
      'dom.ipc.processPrelaunch.enabled': false,
      // as numbered there: dark, light
      'layout.css.prefers-color-scheme.content-override': isDark ? 0 : 1,
    },
  });
  let failure: unknown;
  // It cannot open pages while its newest window has no tabs yet, and then says only that something is undefined.
  await until(
    async () => {
      try {
        await (await browser.newPage()).close();
        return true;
      } catch (error) {
        failure = error;
        return false;
      }
    },
    () => `Firefox to open a page: ${String(failure)}`,
  );
  const testBrowser: TestBrowser = {
    browser,
    access: { pushServices: [origin] },
    clearCookies: async () => browser.deleteCookie(...(await browser.cookies())),
    stopPushService: () => pushService.close(),
    /** Comes back as a new one: it has forgotten every subscription. */
    async startPushServiceAgain() {
      pushService = await startPushService({ port });
    },
    async dropSubscriptions() {
      await testBrowser.stopPushService();
      await testBrowser.startPushServiceAgain();
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      await pushService.close();
      await keepFirefoxCache(executablePath, userDataDir);
      await rm(userDataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  return testBrowser;
}
