// The demo page in the installed Firefox, with the local push service.
import { firefox, missingSentence } from '../../scripts/install-browsers.ts';
import { startPushService } from '../../src/push-service/index.ts';
import { type Setting, testDemoPage } from './demo-page-suite.ts';
import { launchFirefox } from './firefox.ts';

testDemoPage(startSetting, missingSentence('the Firefox tests', [firefox]));

async function startSetting(): Promise<Setting> {
  let pushService = await startPushService();
  const { origin, port, webSocketUrl } = pushService;
  const browser = await launchFirefox(webSocketUrl);
  return {
    browser,
    access: { pushServices: [origin] },
    breakPushService: () => pushService.close(),
    async mendPushService() {
      pushService = await startPushService({ port });
    },
    async close() {
      await browser.close();
      await pushService.close();
    },
  };
}
