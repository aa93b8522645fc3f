// The site of the documentation, built as `npm run site` does, with the packages of its own lock file: every page and every export is
// there, a dead link fails, it loads nothing from elsewhere, the search finds, and pages fit, narrow and wide, light and dark.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, extname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import type { Page } from 'puppeteer-core';
import { readEntries } from '../scripts/exported-names.ts';
import { chromium, skipWithout } from '../scripts/install-test-tools.ts';
import { startChromium } from '../tools/browser/chromium.ts';
import type { TestBrowser } from '../tools/browser/test-browser.ts';

const execute = promisify(execFile);
const root = join(import.meta.dirname, '..');

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.svg': 'image/svg+xml',
};

describe('the site', { skip: skipWithout('the tests of the site', [chromium]) }, () => {
  let folder: string;
  let url: string;
  let testBrowser: TestBrowser | undefined;
  let page: Page;
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://site').pathname.replace(/\/$/, '/index.html');
    readFile(join(folder, path)).then(
      (body) => response.setHeader('content-type', types[extname(path)] ?? 'text/plain').end(body),
      () => response.writeHead(404).end(),
    );
  });
  const requests: string[] = [];
  const faults: string[] = [];

  before(
    async () => {
      folder = await mkdtemp(join(tmpdir(), 'deskbell-site-'));
      await execute('npm', ['ci', '--prefix', 'site'], { cwd: root });
      await execute(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'site'], { cwd: root });
      await execute(process.execPath, ['site/build.ts', folder], { cwd: root });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      url = `http://localhost:${(server.address() as AddressInfo).port}/`;
      testBrowser = await startChromium();
      page = await testBrowser.browser.newPage();
      page.on('request', (request) => requests.push(request.url()));
      page.on('response', (response) => {
        if (!response.ok()) faults.push(`${response.status()} ${response.url()}`);
      });
      page.on('pageerror', (error) => faults.push(String(error)));
      page.on('console', (message) => faults.push(message.text()));
      // npm installs the generator, and the site has hundreds of pages.
    },
    { timeout: 600_000 },
  );
  after(async () => {
    await testBrowser?.[Symbol.asyncDispose]();
    server.close();
    await rm(folder, { recursive: true });
  });

  test('has a page for each page of docs/ and for each export', () => {
    const paths = new Set(globSync('**/*.html', { cwd: folder }));
    const docs = globSync('docs/*.md', { cwd: root }).map((path) => `${basename(path, '.md')}.html`);
    const exported = readEntries().flatMap(({ specifier, declarations }) =>
      declarations.map(({ name }) => `library/${basename(specifier)}/${name}.html`),
    );
    assert.ok(exported.length > 150, `${exported.length} exports`);
    const wanted = [
      'index.html',
      'documentation.html',
      'changelog.html',
      'conformance.html',
      ...docs,
      ...exported,
    ];
    assert.deepEqual(
      wanted.filter((path) => path !== 'README.html' && !paths.has(path)),
      [],
    );
    assert.match(readFileSync(join(folder, 'index.html'), 'utf8'), /<h1 id="deskbell"/);
    assert.match(
      readFileSync(join(folder, 'library/deskbell/createSender.html'), 'utf8'),
      /<a href="\/library\/deskbell\/SenderOptions\.html"><code>SenderOptions<\/code><\/a>/,
    );
  });

  test('finds exports, options and words, with the keyboard alone', async () => {
    for (const [query, address] of [
      ['createSender', 'library/deskbell/createSender.html'],
      ['ERR_STORE_TOO_NEW', 'errors.html'],
      ['quiet hours', '.html#'],
    ] as const) {
      await page.goto(`${url}library/deskbell/Sender.html`);
      await page.waitForSelector('.VPNavBarSearch button');
      await page.keyboard.press('/');
      await page.waitForSelector('.VPLocalSearchBox input');
      await page.keyboard.type(query);
      const first = await page.waitForSelector('.VPLocalSearchBox .results a');
      assert.match(
        await first!.evaluate((link) => (link as unknown as { href: string }).href),
        new RegExp(address),
      );
      await page.keyboard.press('Enter');
      await page.waitForFunction(`/${address.replaceAll('/', '\\/')}/.test(location.href)`);
    }
  });

  for (const [width, scheme] of [
    [320, 'light'],
    [1440, 'dark'],
  ] as const) {
    test(`fits at ${width} px, ${scheme}`, async () => {
      await page.setViewport({ width, height: 900 });
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      const all = globSync('{*,library/*}.html', { cwd: folder });
      const found: string[] = [];
      for (const path of [...all, 'library/deskbell/Sender.html', 'library/deskbell/createSender.html']) {
        await page.goto(url + path);
        const isTooWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
        if (isTooWide) found.push(`${path} is wider than ${width} px`);
      }
      assert.deepEqual(found, []);
    });
  }

  test('has loaded nothing from another host, and everything that it named', () => {
    assert.ok(requests.length > 200);
    assert.deepEqual(
      requests.filter((request) => !request.startsWith(url) && !request.startsWith('data:')),
      [],
    );
    assert.deepEqual(faults, []);
  });
});
