// Starts the installed Firefox, told to use a local push service.
import { launch } from 'puppeteer-core';
import { find, firefox } from '../../scripts/install-test-tools.ts';
import { startPushService } from '../../src/push-service/index.ts';
import type { TestBrowser } from './browser-test.ts';
import { until } from './until.ts';

export async function startFirefox(): Promise<TestBrowser> {
  let pushService = await startPushService();
  const { origin, port, webSocketUrl } = pushService;
  const browser = await launch({
    browser: 'firefox',
    executablePath: find(firefox)!,
    extraPrefsFirefox: {
      'dom.push.serverURL': webSocketUrl,
      'dom.push.testing.allowInsecureServerURL': true,
      // Automation switches push off unless it is asked for.
      'dom.push.connection.enabled': true,
      'dom.push.retryBaseInterval': 300,
      'dom.push.requestTimeout': 3000,
      // Without a desktop that shows notifications, Firefox shows them itself; it queues those beyond the third.
      'alerts.useSystemBackend': false,
      'dom.webnotifications.requireinteraction.count': 100,
      'network.dns.disabled': true,
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
    () => `Firefox does not open a page: ${String(failure)}`,
  );
  const testBrowser: TestBrowser = {
    browser,
    access: { pushServices: [origin] },
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
    },
  };
  return testBrowser;
}
