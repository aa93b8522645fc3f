// Every page of the console in every state, from a phone to a wide screen, light and dark: nothing is cut off, and axe finds no fault. A
// page is loaded once in each state; its width and colours change while it is open, and at last the server ends under it. Which pages
// there are, the routes say, so that a new one is looked at too.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after } from 'node:test';
import type { Page } from 'puppeteer-core';
import { createSender } from '../../src/delivery/sender.ts';
import { openTestStore } from '../store/test-database.ts';
import { vapid } from '../delivery/broadcast-bench.ts';
import { textOf, waitFor } from '../../tools/browser/demo-page.ts';
import { until } from '../../tools/until.ts';
import type { BrowserTest } from './browser-test.ts';
import { openStage, words } from './console-stage.ts';
import { Cleanup, go, press, signIn, startConsole, type, type RunningConsole } from './console-site.ts';

export type Scheme = 'light' | 'dark';
type State = 'in trouble' | 'empty' | 'read only';

/** Minified: each page that is loaded reads it anew. */
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const clientFolder = join(import.meta.dirname, '../../src/client');

const widths = [320, 390, 768, 1024, 1440];
/** Where axe looks: between them, nothing is shown that one of them does not have. */
const ends = [320, 1440];

/** Where the first of what a page may show is not the best example, or more than one is needed. */
const examples: Readonly<Record<string, readonly string[]>> = {
  '/console': ['/console/'],
  '/console/alarms/acknowledge': ['/console/alarms/acknowledge?alarm=sending-paused'],
  '/console/bells/show': ['/console/bells/show?name=alerts'],
  '/console/bells/remove': ['/console/bells/remove?name=alerts'],
  '/console/bells/rotate': ['/console/bells/rotate?name=alerts'],
  '/console/broadcasts': ['/console/broadcasts', '/console/broadcasts?text=nothing'],
  '/console/broadcasts/1': [`/console/broadcasts/5?user=${words.user}`, '/console/broadcasts/6'],
  '/console/broadcasts/1/resume': ['/console/broadcasts/7/resume'],
  '/console/broadcasts/1/cancel': ['/console/broadcasts/7/cancel'],
  '/console/subscriptions': [`/console/subscriptions?pushService=nowhere`, '/console/subscriptions'],
  '/console/subscriptions/1': ['/console/subscriptions/1', '/console/subscriptions/100'],
  '/console/subscriptions/1/remove': ['/console/subscriptions/100/remove'],
  '/console/people': [`/console/people?user=${words.user}`, '/console/people?user=nobody', '/console/people'],
  '/console/channels/edit': ['/console/channels/edit?name=news', '/console/channels/edit'],
  '/console/channels/remove': ['/console/channels/remove?name=news'],
  '/console/people/remove': [`/console/people/remove?user=${words.user}`],
  '/console/held-deletions/confirm': ['/console/held-deletions/confirm?origin=https://fcm.googleapis.com'],
};

/** @returns addresses of all pages that can be opened, a few for some */
export function pagesOf({ routes }: RunningConsole): readonly string[] {
  const paths = routes
    .filter(({ method, path, isOpen }) => method === 'GET' && /^\/console\b/.test(path) && !isOpen)
    .map(({ path }) => path)
    .filter((path) => !/\/live\/|\.\w+$/.test(path));
  return [...new Set(paths)].flatMap((path) => examples[path] ?? [path]);
}

/**
 * @param schemes that pages are looked at in: one that the browser prefers by itself, or some that it is told to prefer
 * @param states of the installation, and of who looks; the first one is looked at as a whole
 */
export function testConsolePages(
  browserTest: BrowserTest,
  schemes: readonly Scheme[],
  states: readonly State[],
): void {
  /** One for all tests of a state: the last of them is the first that changes something. */
  const sites = new Map<State, Promise<RunningConsole>>();
  const cleanup = new Cleanup();
  after(() => cleanup[Symbol.asyncDispose]());
  const siteIn = (state: State): Promise<RunningConsole> => {
    const site = sites.get(state) ?? startInState(cleanup, state);
    sites.set(state, site);
    return site;
  };

  /** @param run with a page of which nothing is loaded yet, and what looks at it, or at another one */
  const pagesTest = (
    what: string,
    state: State,
    run: (site: RunningConsole, page: Page, look: Look) => Promise<void>,
  ): void =>
    browserTest(
      `console: ${what}, ${state}, ${schemes.join(' and ')}, from 320 to 1440 pixels`,
      async ({ testBrowser: { browser } }) => {
        const site = await siteIn(state);
        const page = await browser.newPage();
        const faults: string[] = [];
        const isWhole = state === states[0];
        await run(site, page, async (place, shown = page) => {
          faults.push(...(await faultsOf(shown, place, schemes, isWhole)));
        });
        assert.deepEqual(faults, []);
      },
    );

  for (const state of states) {
    for (const subject of subjects)
      pagesTest(`every page about ${subject}`, state, async (site, page, look) => {
        if (subject === 'the installation') await lookSignedOut(page, site, look);
        await go(page, `${site.url}/console/`);
        await signIn(page, site.token);
        for (const path of pagesOf(site).filter((one) => subjectOf(one) === subject)) {
          if ((await go(page, site.url + path)) !== 404) await look(path);
          else assert.equal(state, 'empty', `${path} is there`);
        }
        assert.equal(await go(page, `${site.url}/console/nothing`), 404);
        if (subject === 'the installation') await look('what is not there');
      });
    if (state !== 'read only')
      pagesTest('a message on its way', state, async (site, page, look) => {
        await go(page, `${site.url}/console/`);
        await signIn(page, site.token);
        await send(page, site, state === 'empty' ? { ...byReader, channel: '' } : byReader, look);
        // what is said then is the same in each state
        if (state === states[0]) await loseServer(page, site, look);
      });
  }
}

type Look = (place: string, shown?: Page) => Promise<void>;

/** Each in a test of its own: together they take long on a busy machine. */
const subjects = ['messages', 'people', 'the installation'] as const;

function subjectOf(path: string): (typeof subjects)[number] {
  if (/^\/console\/(broadcasts|schedules|send)/.test(path)) return 'messages';
  return /^\/console\/(subscriptions|people|channels)/.test(path) ? 'people' : 'the installation';
}

async function lookSignedOut(page: Page, { url }: RunningConsole, look: Look): Promise<void> {
  assert.equal(await go(page, `${url}/console/nothing`), 404);
  await look('nothing, for who is not signed in');
  await go(page, `${url}/console/`);
  await look('sign-in');
  await type(page, 'token', 'wrong');
  await press(page, 'button');
  await look('sign-in, refused');
}

/** Composes a message with everything that readers may differ in, and sends it. */
async function send(
  page: Page,
  { url }: RunningConsole,
  message: Readonly<Record<string, string>>,
  look: Look,
): Promise<void> {
  await go(page, `${url}/console/send?title=Hello&url=javascript:1`);
  await press(page, 'button.primary');
  await waitFor(page, '[role="alert"]');
  await look('a message that cannot be sent');
  await go(page, `${url}/console/send?${new URLSearchParams(message)}`);
  await look('a message in several languages');
  await press(page, 'button[value="test"]');
  assert.equal(await textOf(page, 'h1'), 'Send to the test group');
  await look('review of the test group');
  await press(page, 'form:has([value="edit"]) button');
  await press(page, 'button.primary');
  assert.equal(await textOf(page, 'h1'), 'Review and send');
  await look('review');
  await press(page, 'form[action="/console/send/confirm"] button');
  assert.match(await textOf(page, '#live-readers'), /Persian \(fa\)/);
  await look('a broadcast that differs by reader');
}

/** Pages with live figures, each open in a tab of its own when the server ends, and a message that is being composed. */
async function loseServer(page: Page, site: RunningConsole, look: Look): Promise<void> {
  const shown: (readonly [path: string, page: Page])[] = [];
  for (const { path: route } of site.routes.filter(({ path }) => path.includes('/live/'))) {
    const path = liveExamples[route] ?? route.replace('/live', '');
    const other = await page.browser().newPage();
    if ((await go(other, site.url + path)) === 404) continue;
    await waitFor(other, '.is-live');
    shown.push([path, other]);
  }
  await go(page, `${site.url}/console/send`);
  const says = (expected: RegExp) =>
    until(
      async () => expected.test(await textOf(page, '[data-note="recipients"]')),
      `recipients: ${expected}`,
    );
  await says(/subscriptions$/);
  await site.stop();
  for (const [path, other] of shown) {
    await other.bringToFront();
    await waitFor(other, '[data-stale]:not([hidden])');
    await look(`${path}, server gone`, other);
  }
  await page.bringToFront();
  await type(page, 'title', 'Hello');
  await says(/^not known: the server cannot be reached$/);
  await look('a message that is composed, server gone');
}

/** Pages whose path is not that of their live parts. */
const liveExamples: Readonly<Record<string, string>> = {
  '/console/live/overview': '/console/',
  '/console/live/broadcasts/1': '/console/broadcasts/5',
};

const byReader = {
  title: 'Hello {name|there}',
  message: words.persian,
  placeholders: 'yes',
  'actions.0.title': 'Read',
  languages: 'de fa',
  'texts.de.title': words.long,
  'texts.fa.title': words.persian,
  shownUser: words.user,
  channel: words.tag,
  localTime: '09:00',
  quietHours: '22:00-07:00',
  skipInactive: '10',
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

/** What axe finds otherwise at one width than at another: the page is the same. */
const rulesOfLooks = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable', 'target-size'];
/** What axe finds otherwise in dark: the style sheets ask for the scheme only to choose colours. */
const rulesOfColors = ['color-contrast', 'link-in-text-block'];
for (const file of globSync('**/*.css', { cwd: clientFolder }))
  assert.doesNotMatch(
    readFileSync(join(clientFolder, file), 'utf8'),
    /prefers-color-scheme/,
    `${file} must use light-dark(): otherwise axe has to look for more than colours in dark`,
  );

/**
 * What is cut off at any width, and what axe finds at the narrowest and at the widest with each scheme: in light all that it can
 * find, in dark, which is the same page in other colours, what depends on those.
 *
 * @param isWhole otherwise only at these two
 */
export async function faultsOf(
  page: Page,
  place: string,
  schemes: readonly Scheme[] = [],
  isWhole = true,
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const width of isWhole ? widths : ends) {
    await page.setViewport({ width, height: 900 });
    faults.push(
      ...((await page.evaluate(cutOff)) as string[]).map((what) => `${place} at ${width}: ${what}`),
    );
    if (!ends.includes(width)) continue;
    for (const scheme of schemes) {
      await preferScheme(page, scheme, schemes);
      const rules = isWhole || width === ends[0] ? undefined : rulesOfLooks;
      faults.push(
        ...(await axeFaults(page, `${place} ${scheme} ${width}`, scheme === 'dark' ? rulesOfColors : rules)),
      );
    }
  }
  return faults;
}

/** @param schemes one that the browser prefers by itself, or some that it is told to prefer */
async function preferScheme(page: Page, scheme: Scheme, schemes: readonly Scheme[]): Promise<void> {
  if (schemes.length > 1) await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  assert.equal(await page.evaluate(`matchMedia('(prefers-color-scheme: ${scheme})').matches`), true);
}

/** What does not fit: the page, a table within it, a field in its place, the texts below a chart, or the entry of the navigation that one is at. */
const cutOff = `(() => {
  const width = document.documentElement.clientWidth;
  const tooWide = [...document.querySelectorAll('html, .table, pre, details > summary')]
    .filter((element) => element.scrollWidth > element.clientWidth + 1 && element.checkVisibility())
    .map((element) => element.nodeName + ' ' + element.className + ' ' + (element.ariaLabel ?? '') + ' ' +
      element.scrollWidth + ' in ' + element.clientWidth);
  const right = (element) => element.getBoundingClientRect().right;
  const fields = [...document.querySelectorAll('label > :is(input, select, textarea)')]
    .filter((field) => field.checkVisibility() && right(field) > right(field.parentElement) + 1)
    .map(({ name }) => 'the field ' + name);
  const axes = [...document.querySelectorAll('.ticks')]
    .filter(({ children }) => new Set([...children].map((tick) => tick.offsetTop)).size > 1)
    .map(({ textContent }) => 'the axis ' + textContent);
  const current = document.querySelector('.bar nav [aria-current]')?.getBoundingClientRect();
  const isHidden = current !== undefined && (current.left < 0 || current.right > width);
  return [...tooWide, ...fields, ...axes, ...(isHidden ? ['the current entry of the navigation'] : [])];
})()`;

/** What axe finds: WCAG 2.2 A and AA, and its best practices. @param rules otherwise these alone */
export async function axeFaults(
  page: Page,
  place: string,
  rules?: readonly string[],
): Promise<readonly string[]> {
  if (!(await page.evaluate('typeof axe === "object"'))) await page.evaluate(axeSource);
  const options = JSON.stringify({
    resultTypes: ['violations'],
    // no rule that is on needs the style sheets, which take long
    preload: { assets: ['media'] },
    runOnly: rules,
    // it is AA of WCAG 2.2, and off by default
    rules: { 'target-size': { enabled: true } },
  });
  const found = (await page.evaluate(
    `axe.run(${options}).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
  )) as readonly string[];
  return found.map((fault) => `${place}: ${fault}`);
}
