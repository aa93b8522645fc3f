// Makes docs/images/console-*.png but the page Send: pages of the console in Chromium, over the store that the tests of all pages use.
import { join } from 'node:path';
import { startChromium } from '../tools/browser/chromium.ts';
import { waitFor } from '../tools/browser/demo-page.ts';
import { Cleanup, go, signIn, startConsole } from '../test/browser/console-site.ts';
import { openStage } from '../test/browser/console-stage.ts';
import { chromium, install } from './install-test-tools.ts';

const folder = join(import.meta.dirname, '../docs/images');
const size = { width: 1200, height: 780 };

if (await install('the pictures', [chromium])) await makePictures();
else process.exitCode = 1;

async function makePictures(): Promise<void> {
  await using cleanup = new Cleanup();
  const stage = await openStage(4000);
  cleanup.after(stage.remove);
  const site = await startConsole(cleanup, stage.store, stage.sender);
  await using testBrowser = await startChromium();
  const page = await testBrowser.browser.newPage();
  await page.setViewport(size);
  await go(page, `${site.url}/console/`);
  await signIn(page, site.token);
  for (const [name, path, scheme] of [
    ['overview', '/console/', 'light'],
    ['broadcast', `/console/broadcasts/${stage.ids.running}`, 'dark'],
    ['push-services', '/console/push-services', 'light'],
  ] as const) {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await go(page, site.url + path);
    await waitFor(page, '.is-live');
    await page.screenshot({ path: join(folder, `console-${name}.png`) as `${string}.png` });
  }
}
