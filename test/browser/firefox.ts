// Starts the installed Firefox, told to use a local push service.
import { type Browser, launch } from 'puppeteer-core';
import { find, firefox } from '../../scripts/install-browsers.ts';

/** @param webSocketUrl of the local push service */
export function launchFirefox(
  webSocketUrl: string,
  { isHeadless = true, preferences = {} } = {},
): Promise<Browser> {
  return launch({
    browser: 'firefox',
    executablePath: find(firefox)!,
    headless: isHeadless,
    extraPrefsFirefox: {
      'dom.push.serverURL': webSocketUrl,
      'dom.push.testing.allowInsecureServerURL': true,
      // Automation switches push off unless it is asked for.
      'dom.push.connection.enabled': true,
      'dom.push.retryBaseInterval': 300,
      // Without a desktop that shows notifications, Firefox shows them itself; it queues those beyond the third.
      'alerts.useSystemBackend': false,
      'dom.webnotifications.requireinteraction.count': 100,
      'network.dns.disabled': true,
      ...preferences,
    },
  });
}
