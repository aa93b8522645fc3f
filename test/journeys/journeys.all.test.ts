// The way of each kind of user from an empty directory to a notification, with the packed package: what the README and
// the docs say, done literally.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { firefox, skipWithout } from '../../scripts/install-test-tools.ts';
import { textOf, waitFor } from '../../tools/browser/demo-page.ts';
import { startFirefox } from '../../tools/browser/firefox.ts';
import { freePort } from '../../tools/listening.ts';
import { pack } from '../../tools/pack.ts';
import { blocksOf } from '../documentation/pages.ts';
import { startJourneyBrowser } from './browser.ts';
import { findNode, oldestNodeMajor } from './node-versions.ts';
import { Project } from './project.ts';

const { dependencies, devDependencies } = JSON.parse(
  await readFile(join(import.meta.dirname, '../../package.json'), 'utf8'),
) as Readonly<Record<'dependencies' | 'devDependencies', Readonly<Record<string, string>>>>;
/** In the version that the repository has, so that npm has it in its cache. */
const pinned = (name: string) => `${name}@${dependencies[name] ?? devDependencies[name]}`;
const vite = 'vite@8.3.8';

const inFirefox = { skip: skipWithout('the journey with Vite', [firefox]) };

suite('from an empty directory to a notification', () => {
  let folder: string;
  let tarball: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'deskbell-packed-'));
    tarball = await pack();
  });
  after(() => rm(folder, { recursive: true, force: true }));

  test('the developer of an application with Express does what the README says', async () => {
    await using browser = await startJourneyBrowser();
    await using project = await Project.create();
    await project.install(tarball, pinned('express'));
    const [application] = blocksOf('README.md', 'js') as [string];
    const [page] = blocksOf('README.md', 'html') as [string];
    const port = String(await freePort());
    const options = `({ pushServices: [${JSON.stringify(browser.pushService)}], store,`;
    await project.write('server.mjs', application.replaceAll('({ store,', options).replaceAll('3000', port));
    await project.write('public/index.html', page);
    await using app = project.start('node server.mjs');
    const [url] = await app.waitFor(/^http:.+$/);

    assert.match(await (await fetch(url)).text(), /<deskbell-subscribe/);
    await browser.subscribeAt(new URL('/push', url).href);
    const { status } = await fetch(new URL('/orders', url), { method: 'POST' });

    assert.equal(status, 204);
    assert.deepEqual(await browser.nextMessage(), { title: 'New order', message: 'One cup of tea' });
  });

  test(`an operator on Node ${oldestNodeMajor} installs, serves and sends as the README says, and looks at the broadcast`, async () => {
    const [demonstrate, commands] = blocksOf('README.md', 'sh') as [string, string];
    assert.equal(demonstrate, 'npm ci && npm run demo\n');
    const [make, install, serve, send] = commands.split('\n').map((line) => line.replace(/ +#.*/, ''));
    assert.equal(make, 'npm ci && npm pack');
    assert.equal(install, `npm install --global ./${basename(tarball)} --prefix ~/.local`);
    await using browser = await startJourneyBrowser();
    await using project = await Project.create({
      node: await findNode(oldestNodeMajor),
      environment: { DESKBELL_PUSH_SERVICES: browser.pushService },
    });
    await project.installGlobally(tarball);
    assert.match(await project.run('node --version'), new RegExp(`^v${oldestNodeMajor}\\.`));
    await using service = project.start(`${serve} --port 0`);
    const [, url = ''] = await service.waitFor(/listens on (http\S+)/);
    await browser.subscribeAt(url);

    await project.run(send!);
    const { message } = (await browser.nextMessage()) as { readonly message: string };
    assert.equal(message, 'Backups are done');
    // What the demo page shows, as a person copies it.
    const [, command = ''] = /<code id="command">(.+)<\/code>/.exec(await (await fetch(url)).text())!;
    await project.run(command.replaceAll('&#39;', "'").replaceAll('&quot;', '"'));
    assert.deepEqual(await browser.nextMessage(), { title: 'Ding dong', message: 'Tea is ready' });
    assert.match(await project.run('deskbell broadcasts list'), /^ +2 +done +\S+ +1 +1 /m);
    assert.match(await project.run('deskbell subscriptions list'), /127\.0\.0\.1/);
    assert.equal(await service.stop(), 0);
  });

  test(
    'a front-end developer builds a page with Vite that subscribes a real browser',
    inFirefox,
    async () => {
      await using testBrowser = await startFirefox();
      const { browser, access } = testBrowser;
      await using project = await Project.create({
        environment: { DESKBELL_PUSH_SERVICES: [access.pushServices!].flat().join(), NO_COLOR: '1' },
      });
      await project.install(tarball, vite, pinned('typescript'));
      await using service = project.start('npx deskbell serve --port 0');
      const [, serviceUrl = ''] = await service.waitFor(/listens on (http\S+)/);
      const createClientCode = blocksOf('docs/client.md', 'ts').find((code) => code.includes('?url'))!;
      const files = viteFiles(createClientCode.replace('http://localhost:8080/', `${serviceUrl}/`));
      for (const [path, content] of Object.entries(files)) await project.write(path, content);
      await project.run('npx tsc && npx vite build');
      await using preview = project.start('npx vite preview');
      const [, siteUrl = ''] = await preview.waitFor(/(http:\/\/localhost:\d+\/)/);
      await browser
        .defaultBrowserContext()
        .setPermission(new URL(siteUrl).origin, { permission: { name: 'notifications' }, state: 'granted' });

      const page = await browser.newPage();
      await page.goto(siteUrl);
      await page.click('#subscribe');
      await waitFor(page, '#state.subscribed');
      await project.run(
        "npx deskbell send --all --subject mailto:you@example.org --title Hello --message 'From Vite' --icon icon.png",
      );

      await waitFor(page, 'li');
      assert.equal(await textOf(page, 'li'), 'Hello: From Vite');
      const [worker, notification, icon] = (await page.evaluate(workerAndNotification)) as readonly string[];
      assert.equal(notification, 'Hello: From Vite');
      assert.match(worker!, /\/assets\/service-worker-[\w-]+\.js$/);
      assert.equal(icon, `${siteUrl}icon.png`, 'relative to the page');
    },
  );

  test('a developer follows the tutorial, in a real browser', inFirefox, async () => {
    await using testBrowser = await startFirefox();
    const { browser, access } = testBrowser;
    await using project = await Project.create();
    const page = 'docs/tutorial.md';
    const [setUp = '', start = '', order = '', show = '', sendToOne = ''] = blocksOf(page, 'sh');
    const [server] = blocksOf(page, 'js') as [string];
    const [html] = blocksOf(page, 'html') as [string];
    const [, , install, makeFolder] = setUp.trim().split('\n');
    assert.equal(install, `npm install express ../deskbell/${basename(tarball)}`);
    await project.install(tarball, pinned('express'));
    await project.run(makeFolder!);
    const port = String(await freePort());
    // The browser of this test subscribes at a push service on this machine.
    const options = `({ pushServices: ${JSON.stringify(access.pushServices)}, store,`;
    await project.write('server.js', server.replaceAll('({ store,', options).replaceAll('3000', port));
    await project.write('public/index.html', html);
    await using application = project.start(start.trim());
    const [siteUrl] = await application.waitFor(/^http:\S+$/);
    await browser
      .defaultBrowserContext()
      .setPermission(siteUrl, { permission: { name: 'notifications' }, state: 'granted' });

    const shop = await browser.newPage();
    await shop.goto(siteUrl);
    await waitFor(shop, 'deskbell-subscribe[state="unsubscribed"]');
    await shop.click('deskbell-subscribe >>> button');
    await waitFor(shop, 'deskbell-subscribe[state="subscribed"]');
    const answer: unknown = JSON.parse(await project.run(order.replaceAll('3000', port)));

    assert.deepEqual(answer, { broadcast: 1, recipients: 1 });
    await waitFor(shop, '#messages li');
    assert.equal(await textOf(shop, '#messages li'), 'New order: One cup of tea');
    const [, notification] = (await shop.evaluate(workerAndNotification)) as readonly [string, string];
    assert.equal(notification, 'New order: One cup of tea');
    assert.match(await project.run(show.trim()), /1 accepted/);

    const [, hook = ''] = /add `(onSubscribe: .+?)` to the options/.exec(
      await readFile(join(import.meta.dirname, '../..', page), 'utf8'),
    )!;
    const withHook = (await readFile(join(project.folder, 'server.js'), 'utf8')).replace(
      'pushOnly: true }',
      `pushOnly: true, ${hook} }`,
    );
    await project.write('server.js', withHook);
    await application.stop();
    await using changed = project.start(start.trim());
    await changed.waitFor(/^http:\S+$/);
    await shop.reload();
    await waitFor(shop, 'deskbell-subscribe[state="subscribed"][aria-busy="false"]');
    await project.run(`DESKBELL_PUSH_SERVICES=${[access.pushServices!].flat().join()} ${sendToOne.trim()}`);
    await waitFor(shop, '#messages li');
    assert.match(await textOf(shop, '#messages li'), /: Your tea is ready$/);
  });

  test('a user of web-push moves its keys and subscriptions over', async () => {
    await using browser = await startJourneyBrowser();
    await using project = await Project.create({
      environment: { DESKBELL_PUSH_SERVICES: browser.pushService },
    });
    await project.install(tarball, pinned('web-push'));
    await project.run('npx web-push generate-vapid-keys --json > vapid-keys.json');
    const { publicKey } = JSON.parse(await project.run('cat vapid-keys.json')) as { publicKey: string };
    await project.write('subscriptions.json', JSON.stringify([await browser.subscribe(publicKey)]));

    for (const commands of blocksOf('docs/migrating-from-web-push.md', 'sh')) await project.run(commands);

    assert.deepEqual(await browser.nextMessage(), { title: 'Hello', message: 'From Deskbell' });
  });

  for (const { name, find } of [
    { name: 'this Node', find: async () => undefined },
    { name: `Node ${oldestNodeMajor}`, find: () => findNode(oldestNodeMajor) },
  ]) {
    test(`a developer tests against the local push service, on ${name}`, async () => {
      await using project = await Project.create({ node: await find() });
      await project.install(tarball);
      const [example] = blocksOf('docs/push-service.md', 'ts');
      await project.write('push.test.ts', example!);
      assert.match(await project.run('node --test push.test.ts'), /pass 1\n/);
    });
  }
});

const workerAndNotification = `(async () => {
  const [registration] = await navigator.serviceWorker.getRegistrations();
  const [{ title, body, icon }] = await registration.getNotifications();
  return [registration.active.scriptURL, title + ': ' + body, icon];
})()`;

/** A page built by Vite, whose code that makes the client is the documentation's. */
const viteFiles = (createClientCode: string): Readonly<Record<string, string>> => ({
  'index.html': `<!doctype html>
<title>Shop</title>
<button id="subscribe">Notify me</button>
<p id="state"></p>
<ol></ol>
<script type="module" src="/src/main.ts"></script>
`,
  'src/main.ts': `${createClientCode}
const state = document.querySelector('#state')!;
document.querySelector('#subscribe')!.addEventListener('click', () => {
  client.subscribe().then(
    () => (state.className = 'subscribed'),
    (error: Error) => (state.textContent = error.message),
  );
});
for await (const { title, message } of client.messages()) {
  const item = document.createElement('li');
  item.textContent = \`\${title}: \${message}\`;
  document.querySelector('ol')!.append(item);
}
`,
  'tsconfig.json': JSON.stringify({
    compilerOptions: {
      strict: true,
      noEmit: true,
      target: 'es2024',
      module: 'esnext',
      moduleResolution: 'bundler',
      lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
      types: ['vite/client'],
    },
    include: ['src'],
  }),
});
