// The demo page in the installed Chromium, with a local stand-in for its push transport.
import { chromium, missingSentence } from '../../scripts/install-browsers.ts';
import { launchChromium } from './chromium.ts';
import { type Setting, testDemoPage } from './demo-page-suite.ts';
import { startFakeGcm } from './fake-gcm/fake-gcm.ts';

testDemoPage(startSetting, missingSentence('the Chromium tests', [chromium]));

async function startSetting(): Promise<Setting> {
  const gcm = await startFakeGcm();
  const browser = await launchChromium(gcm.chromiumArguments);
  return {
    browser,
    access: {
      ca: [gcm.certificate],
      connectOverride: () => ({ host: '127.0.0.1', port: gcm.port }),
    },
    async breakPushService() {
      gcm.isDown = true;
    },
    async mendPushService() {
      gcm.isDown = false;
    },
    async close() {
      await browser.close();
      await gcm.close();
    },
  };
}
