// Makes docs/images/notification.png: the demo page in Chromium on a real desktop, with a notification that has gone
// all the way, from the sender through the store and the push service.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { startBackend } from '../tools/browser/backend.ts';
import { startChromium } from '../tools/browser/chromium.ts';
import { openDemoPage, press, received } from '../tools/browser/demo-page.ts';
import { startDesktop } from '../tools/browser/desktop.ts';
import { until } from '../tools/until.ts';
import { chromium, desktop as desktopPrograms, install } from './install-test-tools.ts';

const file = join(import.meta.dirname, '../docs/images/notification.png');
const [width, height] = [1080, 484];

const programs = [
  chromium,
  ...desktopPrograms,
  { names: ['import'], debianPackage: 'imagemagick' },
  { names: ['/usr/share/fonts/opentype/inter/Inter-Regular.otf'], debianPackage: 'fonts-inter' },
];
if (await install('the screenshot', programs)) await makeScreenshot();
else process.exitCode = 1;

async function makeScreenshot(): Promise<void> {
  await using desktop = await startDesktop(width, height);
  const options = {
    isHeadless: false,
    environment: desktop.environment,
    // A little over the edge, where the window's border is.
    furtherArguments: [`--window-size=${width + 4},${height + 4}`, '--window-position=0,0', '--test-type'],
  };
  await using testBrowser = await startChromium(options);
  const { browser, access } = testBrowser;
  await using backend = await startBackend(access, { port: 8080 });
  const { origin } = new URL(backend.url);
  await browser
    .defaultBrowserContext()
    .setPermission(origin, { permission: { name: 'notifications' }, state: 'granted' });
  const page = await openDemoPage(browser, backend.url);
  await (await browser.pages())[0]!.close();
  await page.setViewport(null);
  await press(page, 'Subscribe');
  await backend.sendToAll({ title: 'Ding dong', message: 'Tea is ready', icon: 'client/demo/icon.png' });
  await received(page, 1);
  await until(async () => (await desktop.countNotifications()) > 0, 'the notification on the desktop');
  // What the page and the daemon still have to draw.
  await setTimeout(1500);
  await desktop.takeScreenshot(file, `${width}x${height}+0+0`);
  console.log(`${file}: ${(await stat(file)).size} bytes`);
}
