// Each application of examples/frameworks, with the packed package: built, started, subscribed to, and sent from.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { chromium, skipWithout } from '../../scripts/install-test-tools.ts';
import type { PushServiceAccess } from '../../tools/browser/backend.ts';
import { startChromium } from '../../tools/browser/chromium.ts';
import { waitFor } from '../../tools/browser/demo-page.ts';
import { freePort } from '../../tools/listening.ts';
import { pack } from '../../tools/pack.ts';
import { until } from '../../tools/until.ts';
import { root } from '../../scripts/repository.ts';
import { pages } from '../documentation/pages.ts';
import { startJourneyBrowser } from './browser.ts';
import { Project } from './project.ts';

interface Framework {
  /** As docs/frameworks.md calls it. */
  readonly name: string;
  /** Below examples/frameworks. */
  readonly folder: string;
  readonly packages: readonly string[];
  readonly build?: string;
  /** It listens on the port of the variable PORT. */
  readonly start: string;
  /** Default: `/push`. */
  readonly service?: string;
  /** Default: `/notify`. */
  readonly notify?: string;
  /** What the framework's own starter puts into a project. */
  readonly starter?: Readonly<Record<string, string>>;
  /** Subscribes a Chromium by the button of the page, instead of a user agent without one. */
  readonly inChromium?: true;
}

const react = ['react@19.3.1', 'react-dom@19.3.1'];
const next = { packages: ['next@16.4.6', ...react], build: 'npx next build', start: 'npx next start' };
const compile = 'npx tsc --strict --skipLibCheck --allowJs --target es2024 --module nodenext --types node';
const compiler = ['typescript@7.0.2', '@types/node@26.6.6'];

const frameworks: readonly Framework[] = [
  { name: 'Express', folder: 'express', packages: ['express@5.3.0'], start: 'node server.js' },
  { name: 'Fastify', folder: 'fastify', packages: ['fastify@5.12.8'], start: 'node server.js' },
  {
    name: 'Next.js, App Router',
    folder: 'next-app',
    ...next,
    starter: {
      'app/layout.js': 'export default ({ children }) => <html lang="en"><body>{children}</body></html>;',
    },
    inChromium: true,
  },
  {
    name: 'Next.js, Pages Router',
    folder: 'next-pages',
    ...next,
    service: '/api/push',
    notify: '/api/notify',
  },
  {
    name: 'Nuxt',
    folder: 'nuxt',
    packages: ['nuxt@4.5.2'],
    build: 'npx nuxt build',
    start: 'node .output/server/index.mjs',
  },
  {
    name: 'SvelteKit',
    folder: 'sveltekit',
    packages: [
      '@sveltejs/kit@3.2.0',
      '@sveltejs/adapter-node@6.0.1',
      '@sveltejs/vite-plugin-svelte@7.3.1',
      'svelte@5.57.3',
      'vite@8.3.8',
    ],
    build: 'npx vite build',
    start: 'node build',
    starter: {
      'vite.config.js': `import adapter from '@sveltejs/adapter-node';
import { sveltekit } from '@sveltejs/kit/vite';
export default { plugins: [sveltekit({ adapter: adapter() })] };`,
      'src/app.html':
        '<!doctype html><html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>',
    },
    inChromium: true,
  },
  {
    name: 'React Router',
    folder: 'react-router',
    packages: [
      ...['react-router', '@react-router/dev', '@react-router/node', '@react-router/serve'].map(
        (name) => `${name}@8.4.0`,
      ),
      ...react,
      'isbot@5.2.3',
      'vite@8.3.8',
    ],
    build: 'npx react-router build',
    start: 'npx react-router-serve build/server/index.js',
    starter: {
      'vite.config.js': `import { reactRouter } from '@react-router/dev/vite';
export default { plugins: [reactRouter()] };`,
      'app/root.jsx': `import { Outlet, Scripts } from 'react-router';
export default () => (
  <html lang="en">
    <head><script type="module" src="/push/client/subscribe.js" /></head>
    <body><Outlet /><Scripts /></body>
  </html>
);`,
    },
  },
  {
    name: 'Astro',
    folder: 'astro',
    packages: ['astro@7.3.5', '@astrojs/node@11.1.6'],
    build: 'ASTRO_TELEMETRY_DISABLED=1 npx astro build',
    start: 'node dist/server/entry.mjs',
    starter: {
      'astro.config.mjs': `import node from '@astrojs/node';
export default { adapter: node({ mode: 'standalone' }) };`,
    },
  },
  {
    name: 'Hono',
    folder: 'hono',
    packages: ['hono@4.13.19', '@hono/node-server@2.1.9', ...compiler],
    build: `${compile} --noEmit server.ts`,
    start: 'node server.ts',
    inChromium: true,
  },
  {
    name: 'NestJS',
    folder: 'nestjs',
    packages: [
      ...['common', 'core', 'platform-express'].map((name) => `@nestjs/${name}@12.5.1`),
      'reflect-metadata@0.2.2',
      'rxjs@7.8.2',
      ...compiler,
    ],
    build: `${compile} --experimentalDecorators --emitDecoratorMetadata --outDir dist src/main.ts`,
    start: 'node dist/src/main.js',
    inChromium: true,
  },
  { name: 'Koa', folder: 'koa', packages: ['koa@3.3.0'], start: 'node server.js' },
  { name: 'Bun', folder: 'bun', packages: ['bun@1.4.5'], start: 'npx bun server.js' },
  { name: 'Deno', folder: 'deno', packages: ['deno@2.9.6'], start: 'npx deno run --allow-all server.js' },
];

const { text } = pages.find(({ path }) => path === 'docs/frameworks.md')!;
const examples = join(root, 'examples/frameworks');
const filesOf = (folder: string): readonly [path: string, code: string][] =>
  readdirSync(join(examples, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => [relative(join(examples, folder), file), readFileSync(file, 'utf8')]);

test('docs/frameworks.md lists every application, of at most 27 lines, with the versions of its packages', () => {
  const rows = Array.from(
    text.matchAll(/^\| \[(.+)\]\(\.\.\/examples\/frameworks\/(.+)\) \| (.+) \|$/gm),
    ([, name = '', folder = '', versions = '']) => ({ name, folder, versions }),
  );
  assert.deepEqual(
    rows.map(({ name, folder }) => ({ name, folder })),
    frameworks.map(({ name, folder }) => ({ name, folder })),
  );
  for (const [index, { name, folder, versions }] of rows.entries()) {
    const lines = filesOf(folder).flatMap(([, code]) => code.trim().split('\n'));
    assert.ok(lines.length <= 27, `${name} has ${lines.length} lines`);
    for (const [, spelled, version] of versions.matchAll(/(\S+) (\d+\.\d+\.\d+)/g)) {
      const given = frameworks[index]!.packages;
      assert.ok(given.includes(`${spelled!}@${version}`), `${spelled} ${version}`);
    }
  }
});

for (const framework of frameworks) {
  const { name, folder, packages, build, start, starter = {}, inChromium } = framework;
  const { service = '/push', notify = '/notify' } = framework;
  const skip = inChromium ? skipWithout(`the journey with ${name}`, [chromium]) : false;
  test(
    `${name}: as in examples/frameworks, a reader subscribes, is sent to and leaves`,
    { skip },
    async () => {
      await using reader = await (inChromium ? openChromium() : openUserAgent());
      await using project = await Project.create({ environment: { NEXT_TELEMETRY_DISABLED: '1' } });
      for (const [path, code] of Object.entries({
        ...starter,
        ...Object.fromEntries(filesOf(folder)),
      }))
        await project.write(path, code);
      const shared = readFileSync(join(examples, 'push.js'), 'utf8');
      await project.write('push.js', withAccess(shared, reader.access));
      await project.install(await pack(), ...packages);
      if (build !== undefined) await project.run(build);
      const port = await freePort();
      await using application = project.start(`env PORT=${port} HOST=127.0.0.1 ${start}`);
      const site = `http://localhost:${port}`;
      const isReady = () =>
        fetch(`${site}${service}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        );
      // rejects with what it has printed, if it ends
      await Promise.race([until(isReady, `${name} to listen`), application.waitFor(/(?!)/)]);

      const page = await fetch(site);
      assert.equal(page.status, 200);
      assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
      assert.match(await page.text(), /<deskbell-subscribe/);
      await checkService(`${site}${service}`);
      await reader.subscribe(site, service);
      // SvelteKit and Astro take a request without a type for another site's form
      const headers = { 'content-type': 'application/json' };
      const sent = await fetch(site + notify, { method: 'POST', headers, body: '{}' });
      assert.equal(sent.status, 204, await sent.text());
      await reader.receive().catch(async (error: unknown) => {
        await application.stop();
        // rejects with what it has printed, which may say why nothing arrived
        await application.waitFor(/(?!)/);
        throw error;
      });
      await reader.leave();
      const description = await fetch(`${site}${service}/openapi.json`);
      assert.equal(description.status, 200);
    },
  );
}

/** How the application gets to the push service of the test, which an application on the internet need not say. */
function withAccess(code: string, { ca, connectOverride, pushServices }: PushServiceAccess): string {
  const place = connectOverride?.('');
  const options = Object.entries({ ca, pushServices })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}, `);
  if (place) options.push(`connectOverride: () => (${JSON.stringify(place)}), `);
  const ofService = pushServices ? `pushServices: ${JSON.stringify(pushServices)}, ` : '';
  return code
    .replace('createSender({ ', (start) => start + options.join(''))
    .replace('service = { ', (start) => start + ofService);
}

/** What the framework must pass on as it is. */
async function checkService(service: string): Promise<void> {
  const script = await fetch(`${service}/service-worker.js`);
  assert.match(script.headers.get('content-type') ?? '', /javascript/);
  const preflight = await fetch(`${service}/webPush`, {
    method: 'OPTIONS',
    headers: { origin: 'https://a.example', 'access-control-request-method': 'DELETE' },
  });
  assert.equal(preflight.status, 204);
  assert.match(preflight.headers.get('access-control-allow-methods') ?? '', /DELETE/);
  const unknown = await fetch(`${service}/unknown?x=%C3%A4`);
  assert.equal(unknown.status, 404);
  assert.equal(((await unknown.json()) as { readonly code: string }).code, 'ERR_ROUTE_UNKNOWN');
  const invalid = await fetch(`${service}/webPush`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"endpoint": "ü"}',
  });
  assert.equal(invalid.status, 400);
  assert.equal(((await invalid.json()) as { readonly code: string }).code, 'ERR_SUBSCRIPTION_INVALID');
}

interface Reader extends AsyncDisposable {
  readonly access: PushServiceAccess;
  subscribe(site: string, service: string): Promise<void>;
  /** Waits for what the page sends. */
  receive(): Promise<void>;
  leave(): Promise<void>;
}

async function openUserAgent(): Promise<Reader> {
  const browser = await startJourneyBrowser();
  let leave: (() => Promise<void>) | undefined;
  return {
    access: { pushServices: [browser.pushService] },
    async subscribe(site, service) {
      leave = await browser.subscribeAt(site + service);
    },
    receive: async () =>
      assert.deepEqual(await browser.nextMessage(), { title: 'Hello', message: 'Tea is ready' }),
    leave: async () => leave?.(),
    [Symbol.asyncDispose]: () => browser[Symbol.asyncDispose](),
  };
}

async function openChromium(): Promise<Reader> {
  const testBrowser = await startChromium();
  const { browser, access } = testBrowser;
  const page = await browser.newPage();
  const press = () => page.click('deskbell-subscribe >>> button');
  return {
    access,
    async subscribe(site) {
      await browser
        .defaultBrowserContext()
        .setPermission(site, { permission: { name: 'notifications' }, state: 'granted' });
      await page.goto(site);
      await waitFor(page, 'deskbell-subscribe[state="unsubscribed"][aria-busy="false"]');
      await press();
      await waitFor(page, 'deskbell-subscribe[state="subscribed"][aria-busy="false"]');
    },
    async receive() {
      await until(
        async () => (await page.evaluate(shownTexts)) === 'Hello: Tea is ready',
        'the notification',
      );
    },
    async leave() {
      await press();
      await waitFor(page, 'deskbell-subscribe[state="unsubscribed"]');
    },
    [Symbol.asyncDispose]: () => testBrowser[Symbol.asyncDispose](),
  };
}

/** Of the service worker below the page. */
const shownTexts = `navigator.serviceWorker.getRegistrations()
  .then(([registration]) => registration.getNotifications())
  .then((notifications) => notifications.map(({ title, body }) => title + ': ' + body).join())`;
