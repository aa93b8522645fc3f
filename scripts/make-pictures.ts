// Makes the pictures of docs/images: pages of the console in Chromium over one store, and a notification on a real desktop, over the
// demo page, that has gone all the way from the sender through the push service. `npm run pictures`; as root on Debian it installs what it needs.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { startBackend } from '../tools/browser/backend.ts';
import { startChromium } from '../tools/browser/chromium.ts';
import { openDemoPage, press, received, waitFor } from '../tools/browser/demo-page.ts';
import { startDesktop } from '../tools/browser/desktop.ts';
import { until } from '../tools/until.ts';
import { Cleanup, go, signIn, startConsole } from '../test/browser/console-site.ts';
import { createVisitor } from '../test/operator/console-visitor.ts';
import { chromium, desktop as desktopPrograms, install } from './install-test-tools.ts';
import { folder, hashesFile, hashOfDemoPage, hashOfPage, shownPages } from './pictures/pages.ts';
import { openShownStore } from './pictures/shown-store.ts';

const size = { width: 1280, height: 800 };
/** That of the navigation. */
const minHeight = 560;

const programs = [
  chromium,
  ...desktopPrograms,
  { names: ['import'], debianPackage: 'imagemagick' },
  { names: ['/usr/share/fonts/opentype/inter/Inter-Regular.otf'], debianPackage: 'fonts-inter' },
];
if (await install('the pictures', programs)) {
  const hashes = { ...(await takeConsole()), ...(await takeNotification()) };
  await writeFile(hashesFile, `${JSON.stringify(hashes, undefined, 2)}\n`);
} else process.exitCode = 1;

/** @returns the hash of each page */
async function takeConsole(): Promise<Record<string, string>> {
  await using cleanup = new Cleanup();
  const stage = await openShownStore(4000);
  cleanup.after(stage.remove);
  const site = await startConsole(cleanup, stage.store, stage.sender);
  const visitor = createVisitor({ base: site.url });
  await visitor.open('/console/sign-in');
  await visitor.submit('/console/sign-in', { token: site.token });
  await using testBrowser = await startChromium();
  const page = await testBrowser.browser.newPage();
  await page.setViewport(size);
  await go(page, `${site.url}/console/`);
  await signIn(page, site.token);
  const hashes: Record<string, string> = {};
  for (const { name, path, scheme } of shownPages(stage.ids)) {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    // a short page leaves out what would be empty
    await page.setViewport(size);
    await go(page, site.url + path);
    await waitFor(page, 'body[data-live=""], .is-live');
    const bottom = await page.$eval('main', (main) => main.lastElementChild!.getBoundingClientRect().bottom);
    const height = Math.min(size.height, Math.max(minHeight, Math.ceil(bottom) + 36));
    await page.setViewport({ ...size, height });
    await page.screenshot({ path: join(folder, `console-${name}.png`) as `${string}.png` });
    hashes[`console-${name}.png`] = await hashOfPage(path, async (each) => (await visitor.open(each)).html);
  }
  return hashes;
}

async function takeNotification(): Promise<Record<string, string>> {
  const [width, height] = [1080, 396];
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
  await desktop.takeScreenshot(join(folder, 'notification.png'), `${width}x${height}+0+0`);
  return { 'notification.png': hashOfDemoPage() };
}
