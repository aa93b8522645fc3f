// The console in a real browser, over a store of a test: signing in, going to pages, pressing and typing.
import assert from 'node:assert/strict';
import type { Page } from 'puppeteer-core';
import type { Sender } from '../../src/delivery/sender.ts';
import { generateOperatorToken } from '../../src/keys/secret-files.ts';
import { createOperator } from '../../src/operator/create-operator.ts';
import { createMetrics } from '../../src/operator/metrics/metrics.ts';
import type { OperatorRole } from '../../src/store/operators.ts';
import type { Store } from '../../src/store/store.ts';
import { textOf, waitFor } from '../../tools/browser/demo-page.ts';
import type { TestBrowser } from '../../tools/browser/test-browser.ts';
import { claimPort } from '../../tools/listening.ts';
import { collectRoutes, type Asked } from '../operator/collect-routes.ts';
import { vapidKeys } from '../delivery/broadcast-bench.ts';

/** Runs what was put off, the last first. */
export class Cleanup extends AsyncDisposableStack {
  readonly after = (work: unknown): void => this.defer(work as () => Promise<void>);
}

export interface Console {
  readonly url: string;
  readonly token: string;
}

export interface RunningConsole extends Console {
  readonly sender: Sender;
  readonly store: Store;
  readonly routes: readonly Asked[];
  /** Ends the server, and its connections. */
  stop(): Promise<void>;
  /** Starts it at the same address again. */
  startAgain(): Promise<void>;
}

export async function startConsole(
  cleanup: Cleanup,
  store: Store,
  sender: Sender,
  role: OperatorRole = 'full',
): Promise<RunningConsole> {
  await store.vapidKeys.adopt(vapidKeys.publicKey);
  const { token, tokenHash } = generateOperatorToken();
  await store.operators.add({ name: 'ada', role, tokenHash });
  const log = { info: () => {}, error: (record: object) => console.error(record) };
  const metrics = createMetrics(store);
  const start = async (port: number) => {
    const where = { host: '127.0.0.1', port };
    const started = createOperator({ store, sender, log, metrics, hashPerson: String, ...where });
    const routes = collectRoutes(started);
    await started.listen(where);
    return { app: started, routes };
  };
  const startOnNewPort = async () => {
    const started = await start(0);
    const claimed = claimPort(started.app.server);
    if (claimed !== undefined) return { ...started, port: claimed };
    await started.app.close();
    return startOnNewPort();
  };
  const { routes, port, ...first } = await startOnNewPort();
  let { app } = first;
  cleanup.after(() => app.close());
  return {
    url: `http://localhost:${port}`,
    token,
    sender,
    store,
    routes,
    stop: () => app.close(),
    async startAgain() {
      ({ app } = await start(port));
    },
  };
}

/** @param faults collects what the browser complains about */
export async function openConsole(
  { browser }: TestBrowser,
  { url, token }: Console,
  faults: string[],
): Promise<Page> {
  const page = await browser.newPage();
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (entry) => {
    if (entry.type() === 'error') faults.push(entry.text());
  });
  await go(page, `${url}/console/`);
  await signIn(page, token);
  return page;
}

export async function signIn(page: Page, token: string): Promise<void> {
  await type(page, 'token', token);
  await press(page, 'button');
  assert.equal(await textOf(page, 'h1'), 'Overview');
}

/** A page with live parts is never done loading for some browsers. @returns the status of its answer */
export async function go(page: Page, url: string): Promise<number | undefined> {
  return (await page.goto(url, { waitUntil: 'domcontentloaded' }))?.status();
}

export async function press(page: Page, selector: string): Promise<void> {
  await waitFor(page, selector);
  await Promise.all([page.waitForNavigation({ waitUntil: 'domcontentloaded' }), page.click(selector)]);
}

export async function type(page: Page, name: string, text: string): Promise<void> {
  await page.type(`[name="${name}"]`, text);
}
