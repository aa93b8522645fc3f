// What is published: the packed package is installed into an empty project, where every entry imports and the command
// runs, on the newest Node and on the oldest one that is supported; older ones are told what is needed.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { addonFile } from '../src/accelerator/addon-file.ts';
import { loadAccelerator } from '../src/accelerator/load-accelerator.ts';
import { findNode, oldestNodeMajor } from './journeys/node-versions.ts';
import { program } from './packed-program.ts';
import { build } from '../tools/pack.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const { exports: entries, scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly import: { readonly default: string } }>>;
  readonly scripts: { readonly prepack: string };
};
/** The client is for browsers. */
const nodeEntries = Object.entries(entries)
  .filter(([, entry]) => typeof entry === 'object' && !entry.import.default.startsWith('./dist/client/'))
  .map(([path]) => path.replace('.', 'deskbell'));

/** What is loaded by its path, and not imported, works from the bundled files; and a class is one class in all of them. */
const broadcast = `
import assert from 'node:assert/strict';
import { createSender, DeskbellError, openDataDirectory } from 'deskbell';
import { parseSubscription } from 'deskbell/protocol';
import { startPushService } from 'deskbell/push-service';

assert.throws(() => parseSubscription({}), DeskbellError);

const pushService = await startPushService({ tls: true });
const { store, vapidKeys, close } = await openDataDirectory('broadcast-data');
const rows = [...pushService.createSinks(2000)].map((sink) => ({
  subscription: { endpoint: sink.endpoint, p256dh: Buffer.from(sink.p256dh, 'base64url'), auth: Buffer.from(sink.auth, 'base64url') },
  vapidPublicKey: vapidKeys.publicKey,
}));
await store.subscriptions.putAll(rows);
const warnings = [];
const sender = createSender({
  store,
  vapid: { ...vapidKeys, subject: 'mailto:push@example.org' },
  pushServices: [pushService.origin],
  ca: pushService.ca,
  threads: 1,
  onWarning: (warning) => warnings.push(warning),
});
const { finished } = await sender.broadcast('all', { title: 'Hello', message: 'Tea is ready' });
const { accepted } = (await finished).counts;
await sender.close();
await close();
await pushService.close();
console.log(JSON.stringify({ accepted, warnings }));
`;

suite('the packed package', () => {
  let project: string;
  let tarball: {
    readonly filename: string;
    readonly files: readonly { readonly path: string; readonly mode: number }[];
  };

  before(async () => {
    project = await mkdtemp(join(tmpdir(), 'deskbell-packaging-'));
    // what npm runs before it packs; dist/ need not be built again
    const [first, ...others] = scripts.prepack.split(' && ');
    assert.equal(first, 'npm run build');
    await build();
    await run('sh', ['-ec', others.join('\n')], { cwd: root });
    const words = ['pack', '--json', '--ignore-scripts', '--pack-destination', project];
    const { stdout } = await run('npm', words, { cwd: root });
    [tarball] = JSON.parse(stdout) as [typeof tarball];
    await writeFile(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    await install(project, join(project, tarball.filename));
  });
  after(() => rm(project, { recursive: true, force: true, maxRetries: 3 }));

  test('it holds what runs, the docs, the examples and the licence, and no sources or tests', () => {
    const paths = tarball.files.map(({ path }) => path);
    for (const wanted of [
      'package.json',
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
      'docs/configuration.md',
      'examples/express.ts',
      'dist/index.js',
      'dist/index.d.ts',
      'dist/client/index.js',
      'dist/client/react.js',
      'dist/client/subscribe.js',
      'dist/client/subscribe/languages.js',
      'dist/client/service-worker.js',
    ]) {
      assert.ok(paths.includes(wanted), `${wanted} is packed`);
    }
    assert.deepEqual(
      paths.filter((path) =>
        /^(src|test|scripts|bench|site)\/|^(?!examples\/).*(?<!\.d)\.ts$|tsconfig/.test(path),
      ),
      [],
    );
    const command = tarball.files.find(({ path }) => path === 'dist/cli/main.cjs');
    assert.equal((command?.mode ?? 0) & 0o111, 0o111);
  });

  test('a broadcast is delivered by a thread, and the accelerator is the one that was packed', async () => {
    await writeFile(join(project, 'broadcast.js'), broadcast);
    const { stdout } = await run(process.execPath, ['broadcast.js'], { cwd: project });
    assert.deepEqual(JSON.parse(stdout), { accepted: 2000, warnings: [] });

    const command = join(project, 'node_modules/.bin/deskbell');
    const version = await run(process.execPath, [command, 'version', '--json']);
    const { encryption } = JSON.parse(version.stdout) as { readonly encryption: string };
    const addon = relative(root, addonFile()).replaceAll('\\', '/');
    const isPacked = tarball.files.some(({ path }) => path === addon);
    assert.equal(encryption, isPacked ? loadAccelerator().method : 'builtin');
  });

  test("the service worker has a name, and the client's types have their documentation", async () => {
    const name = "console.log(import.meta.resolve('deskbell/service-worker.js'))";
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', name], { cwd: project });
    assert.match(await readFile(new URL(stdout.trim()), 'utf8'), /addEventListener\("push"/);
    const replaced = `require('deskbell/web-push').sendNotification = async () => 'replaced';
      require('deskbell/web-push').sendNotification().then(console.log)`;
    assert.equal((await run(process.execPath, ['--eval', replaced], { cwd: project })).stdout, 'replaced\n');
    const types = await readFile(join(project, 'node_modules/deskbell/dist/client/client.d.cts'), 'utf8');
    assert.match(types, /@throws {ClientError}/);
  });

  for (const { name, find } of [
    { name: `Node ${process.versions.node}`, find: () => Promise.resolve(process.execPath) },
    { name: `Node ${oldestNodeMajor}`, find: () => findNode(oldestNodeMajor) },
  ]) {
    test(`on ${name} every entry imports and the command runs`, async (t) => {
      const node = await find().catch((error: unknown) => {
        if (process.env['CI']) throw error;
      });
      if (node === undefined) return t.skip('it could not be installed; where CI is set that is a failure');
      await writeFile(join(project, 'program.ts'), program);
      const { stdout, stderr } = await run(node, ['program.ts'], { cwd: project });
      assert.match(stdout, /^imported \d+$/m);
      assert.equal(stderr, '');

      const command = join(project, 'node_modules/.bin/deskbell');
      const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
        version: string;
      };
      assert.equal((await run(node, [command, '--version'])).stdout, `${version}\n`);
      const demo = await run(node, [command, 'demo', '--once']);
      assert.match(demo.stdout, /\nnotification {"title":/);
      assert.equal(demo.stderr, '');
    });
  }

  for (const major of [12, 16, 20]) {
    test(`on Node ${major} the command and every entry say in one sentence which Node is needed`, async (t) => {
      const node = await findNode(major).catch((error: unknown) => {
        if (process.env['CI']) throw error;
      });
      if (node === undefined) return t.skip('it could not be installed; where CI is set that is a failure');
      const sentence =
        `deskbell: Node ${oldestNodeMajor} or newer is required, and this is Node ${major}\\.[\\d.]+\\. ` +
        'See https://nodejs\\.org/en/download\\.';
      await assert.rejects(run(node, [join(project, 'node_modules/.bin/deskbell'), 'demo']), {
        code: 1,
        stdout: '',
        stderr: new RegExp(`^${sentence} \\[ERR_NODE_VERSION\\]\n$`),
      });
      assert.ok(nodeEntries.length >= 5);
      for (const entry of nodeEntries) {
        const required = ['--eval', `require('${entry}')`];
        const imported = ['--input-type=module', '--eval', `import '${entry}'`];
        // Node 12 does not know the syntax of modules in between.
        for (const words of major === 12 ? [required] : [required, imported]) {
          const expected = { code: 1, stdout: '', stderr: new RegExp(`^Error: ${sentence}$`, 'm') };
          await assert.rejects(run(node, words, { cwd: project }), expected, words.join(' '));
        }
      }
    });
  }
});

/** The packages that ours needs have just been installed in the project itself: npm's cache has them. */
async function install(folder: string, ...what: readonly string[]): Promise<void> {
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', ...what], { cwd: folder });
}
