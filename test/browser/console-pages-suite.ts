// Every page of the console in every state, from a phone to a wide screen, light and dark: nothing is cut off, and axe finds no fault. A
// page is loaded once in each state; its width and colours change while it is open. Which pages there are, the routes say, so that a
// new one is looked at too.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'puppeteer-core';
import { createSender } from '../../src/delivery/sender.ts';
import { openTestStore } from '../store/test-database.ts';
import { vapid } from '../delivery/broadcast-bench.ts';
import { textOf, waitFor } from '../../tools/browser/demo-page.ts';
import type { BrowserTest } from './browser-test.ts';
import { openStage, words } from './console-stage.ts';
import { Cleanup, go, press, signIn, startConsole, type, type RunningConsole } from './console-site.ts';

export type Scheme = 'light' | 'dark';
type State = 'in trouble' | 'empty' | 'read only';

/** Minified: each page that is loaded reads it anew. */
const axeSource = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const widths = [320, 390, 768, 1024, 1440];
const axeWidths = { narrow: 390, wide: 1440 };

/** Where the first of what a page may show is not the best example, or more than one is needed. */
const examples: Readonly<Record<string, readonly string[]>> = {
  '/console': ['/console/'],
  '/console/alarms/acknowledge': ['/console/alarms/acknowledge?alarm=sending-paused'],
  '/console/broadcasts/1': ['/console/broadcasts/5', '/console/broadcasts/6'],
  '/console/subscriptions': [`/console/subscriptions?pushService=nowhere`, '/console/subscriptions'],
  '/console/people': [`/console/people?user=${words.user}`, '/console/people'],
  '/console/channels/edit': ['/console/channels/edit?name=news', '/console/channels/edit'],
  '/console/channels/remove': ['/console/channels/remove?name=news'],
  '/console/people/remove': [`/console/people/remove?user=${words.user}`],
};

/** @returns addresses of all pages that can be opened, a few for some */
export function pagesOf({ routes }: RunningConsole): readonly string[] {
  const paths = routes
    .filter(({ method, path, isOpen }) => method === 'GET' && /^\/console\b/.test(path) && !isOpen)
    .map(({ path }) => path)
    .filter((path) => !/\/live\/|\/session$|\.\w+$/.test(path));
  return [...new Set(paths)].flatMap((path) => examples[path] ?? [path]);
}

/**
 * @param schemes that pages are looked at in: one that the browser prefers by itself, or some that it is told to prefer
 * @param states of the installation, and of who looks; all widths are tried in the first one
 */
export function testConsolePages(
  browserTest: BrowserTest,
  schemes: readonly Scheme[],
  states: readonly State[],
): void {
  for (const state of states) {
    browserTest(
      `console: every page, ${state}, ${schemes.join(' and ')}, from 320 to 1440 pixels`,
      async ({ testBrowser }) => {
        await using cleanup = new Cleanup();
        const site = await startInState(cleanup, state);
        const page = await testBrowser.browser.newPage();
        const faults: string[] = [];
        const isWhole = state === states[0];
        const look = async (place: string) => faults.push(...(await faultsOf(page, place, schemes, isWhole)));
        await go(page, `${site.url}/console/`);
        await look('sign-in');
        await type(page, 'token', 'wrong');
        await press(page, 'button');
        await look('sign-in, refused');
        await go(page, `${site.url}/console/`);
        await signIn(page, site.token);
        for (const path of [...pagesOf(site), '/console/nothing']) {
          await go(page, site.url + path);
          await look(path);
        }
        if (isWhole) {
          await go(page, `${site.url}/console/send?title=Hello&url=javascript:1`);
          await press(page, 'button.primary');
          await waitFor(page, '[role="alert"]');
          await look('a message that cannot be sent');
          await go(page, `${site.url}/console/send?${new URLSearchParams(byReader)}`);
          await look('a message in several languages');
          await press(page, 'button.primary');
          assert.equal(await textOf(page, 'h1'), 'Review and send');
          await look('review');
          await press(page, 'form[action="/console/send/confirm"] button');
          assert.match(await textOf(page, '#live-readers'), /Persian \(fa\)/);
          await look('a broadcast that differs by reader');
        }
        assert.deepEqual(faults, []);
      },
    );
  }
}

const byReader = {
  title: 'Hello {name|there}',
  message: words.persian,
  placeholders: 'yes',
  actionTitle0: 'Read',
  languages: 'de fa',
  'texts.de.title': words.long,
  'texts.fa.title': words.persian,
  shownUser: words.user,
  channel: words.tag,
  localTime: '09:00',
  quietHours: '22:00-07:00',
};

async function startInState(cleanup: Cleanup, state: State): Promise<RunningConsole> {
  if (state === 'empty') {
    const { store, remove } = await openTestStore();
    cleanup.after(remove);
    const sender = createSender({ vapid, store, threads: 0 });
    cleanup.after(() => sender.close());
    return startConsole(cleanup, store, sender);
  }
  const stage = await openStage();
  cleanup.after(stage.remove);
  if (state === 'in trouble') await stage.addTrouble();
  return startConsole(cleanup, stage.store, stage.sender, state === 'read only' ? 'read' : 'full');
}

/**
 * What is cut off at any width, and what axe finds with each scheme: the first where the page is wide, the other where it is narrow.
 *
 * @param isWhole otherwise only at the ends, and axe where the page is narrow
 */
export async function faultsOf(
  page: Page,
  place: string,
  schemes: readonly Scheme[] = [],
  isWhole = true,
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const width of isWhole ? widths : [axeWidths.wide, axeWidths.narrow]) {
    await page.setViewport({ width, height: 900 });
    faults.push(
      ...((await page.evaluate(cutOff)) as string[]).map((what) => `${place} at ${width}: ${what}`),
    );
    const [wide, narrow = wide] = schemes;
    const scheme =
      width === axeWidths.narrow ? narrow : isWhole && width === axeWidths.wide ? wide : undefined;
    if (scheme === undefined) continue;
    if (schemes.length > 1)
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    assert.equal(await page.evaluate(`matchMedia('(prefers-color-scheme: ${scheme})').matches`), true);
    faults.push(...(await axeFaults(page, `${place} ${scheme} ${width}`)));
  }
  return faults;
}

/** What does not fit: the page, a table within it, or the entry of the navigation that one is at. */
const cutOff = `(() => {
  const width = document.documentElement.clientWidth;
  const tooWide = [...document.querySelectorAll('html, .table, pre, details > summary')]
    .filter((element) => element.scrollWidth > element.clientWidth + 1 && element.checkVisibility())
    .map((element) => element.nodeName + ' ' + element.className + ' ' + (element.ariaLabel ?? '') + ' ' +
      element.scrollWidth + ' in ' + element.clientWidth);
  const current = document.querySelector('.bar nav [aria-current]')?.getBoundingClientRect();
  const isHidden = current !== undefined && (current.left < 0 || current.right > width);
  return isHidden ? [...tooWide, 'the current entry of the navigation'] : tooWide;
})()`;

/** What axe finds: WCAG 2.2 A and AA, and its best practices. */
export async function axeFaults(page: Page, place: string): Promise<readonly string[]> {
  if (!(await page.evaluate('typeof axe === "object"'))) await page.evaluate(axeSource);
  const found = (await page.evaluate(
    `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
  )) as readonly string[];
  return found.map((fault) => `${place}: ${fault}`);
}
