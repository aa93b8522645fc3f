// The demo page as a person sees it: what it says, and its buttons. Everything here waits, because browsers take
// their time. What a page says is asked by `evaluate`: `$eval` and `$` put Puppeteer's own script into each document first, which
// takes a browser several times as long.
import type { Browser, Page } from 'puppeteer-core';
import { until } from '../until.ts';

export interface ShownNotification {
  readonly title: string;
  readonly body: string;
  readonly tag: string;
  readonly requireInteraction: boolean;
  /** Firefox does not have it. */
  readonly renotify?: boolean;
}

/** Opens the page and waits until it knows where it stands. `consoleErrors` collects what it writes to the console. */
export async function openDemoPage(
  browser: Browser,
  url: string,
  consoleErrors: string[] = [],
): Promise<Page> {
  const page = await browser.newPage();
  page.on('console', (entry) => {
    if (['error', 'warn'].includes(entry.type())) consoleErrors.push(entry.text());
  });
  page.on('pageerror', (error) => consoleErrors.push(String(error)));
  await page.goto(url);
  await waitUntilIdle(page);
  return page;
}

export async function reload(page: Page): Promise<void> {
  await page.reload();
  await waitUntilIdle(page);
}

/** Presses the button, which does one or the other, and waits until the page has done what it does. */
export async function press(page: Page, button: 'Subscribe' | 'Unsubscribe'): Promise<void> {
  await waitUntilIdle(page);
  await waitFor(page, button === 'Subscribe' ? unsubscribed : subscribed);
  await page.click('deskbell-subscribe >>> button');
  await waitUntilIdle(page);
}

const subscribed = 'deskbell-subscribe[state="subscribed"]';
const unsubscribed = 'deskbell-subscribe:not([state="subscribed"])';

function waitUntilIdle(page: Page): Promise<void> {
  return waitFor(page, '#browser[aria-busy="false"] > deskbell-subscribe[aria-busy="false"]');
}

/** What the element says, without its button and lists. */
export async function saidByElement(page: Page): Promise<string> {
  return (await page.evaluate(
    `document.querySelector('deskbell-subscribe').shadowRoot.querySelector('[part="text"]').textContent`,
  )) as string;
}

/** Puppeteer's own wait stands still in a page that is not in front. */
export async function waitFor(page: Page, selector: string): Promise<void> {
  await until(() => isThere(page, selector), `${selector} on the page`);
}

export async function isThere(page: Page, selector: string): Promise<boolean> {
  return (await page.evaluate(`document.querySelector(${JSON.stringify(selector)}) !== null`)) as boolean;
}

export async function textOf(page: Page, selector: string): Promise<string> {
  const text = await page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent`);
  if (typeof text !== 'string') throw new Error(`There is no ${selector} on the page.`);
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** The received messages, newest first, as soon as there are `count`. */
export async function received(page: Page, count: number): Promise<readonly string[]> {
  await waitFor(page, `#received li:nth-child(${count})`);
  return (await page.evaluate(
    `[...document.querySelectorAll('#received li')].map((item) =>
      [...item.querySelectorAll('h3, p')].map((part) => part.textContent).join(': '))`,
  )) as readonly string[];
}

/**
 * What the page's service worker has on the screen, once a notification with this title is there. A page that listens
 * should have received it first: Chromium loses a notification that is asked for while it is about to be shown.
 */
export async function shown(page: Page, title: string): Promise<readonly ShownNotification[]> {
  let notifications: readonly ShownNotification[] = [];
  await until(
    async () => {
      notifications = (await page.evaluate(notificationsOnScreen)) as readonly ShownNotification[];
      return notifications.some((notification) => notification.title === title);
    },
    () => `"${title}" on the screen, where there is ${JSON.stringify(notifications)}`,
  );
  return notifications;
}

export const notificationsOnScreen = `(async () => {
  const registration = await navigator.serviceWorker.getRegistration();
  const notifications = (await registration?.getNotifications()) ?? [];
  return notifications.map(({ title, body, tag, requireInteraction, renotify }) =>
    ({ title, body, tag, requireInteraction, renotify }));
})()`;
