// What is published: the packed package is installed into an empty project. How large that is and what comes with it; every entry
// imports and the command runs, on the newest Node and on the oldest one that is supported; older ones are told what is needed.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { readLockedPackages } from '../scripts/locked-packages.ts';
import { addonFile } from '../src/accelerator/addon.ts';
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

const maxPackages = 70;
const maxInstalledBytes = 25e6;
const maxSenderBytes = 12e6;
/** What a file or folder takes on the usual file systems is a multiple of this. */
const blockBytes = 4096;

/** Of package-lock.json, by folder: what an install brings. */
function lockedPackages(): Readonly<Record<string, unknown>> {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, unknown>>;
  };
  return Object.fromEntries(readLockedPackages().packages.map(({ path }) => [path, packages[path]]));
}

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
  let installed: Readonly<Record<string, { readonly version: string }>>;
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
    // the versions that it was packed with: those of the dependencies' dependencies are newer with every day that passes
    const lock = { lockfileVersion: 3, packages: lockedPackages() };
    await writeFile(join(project, 'package-lock.json'), JSON.stringify(lock));
    await install(project, join(project, tarball.filename));
    const made = readFileSync(join(project, 'node_modules/.package-lock.json'), 'utf8');
    ({ packages: installed } = JSON.parse(made) as { packages: typeof installed });
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

  test(`is at most ${maxPackages} packages`, (t) => {
    const count = Object.keys(installed).length;
    t.diagnostic(`${count} packages`);
    assert.ok(count <= maxPackages, `${count} packages`);
  });

  test(`takes at most ${maxInstalledBytes / 1e6} MB of disk`, (t) => {
    const paths = globSync('node_modules/**/*', { cwd: project });
    const sizes = paths.map((path) => statSync(join(project, path)).size);
    const bytes = sizes.reduce((sum, size) => sum + Math.ceil(size / blockBytes) * blockBytes, 0);
    t.diagnostic(`${(bytes / 1e6).toFixed(1)} MB`);
    assert.ok(bytes <= maxInstalledBytes, `${bytes} bytes`);
  });

  test('comes with the licence of every package, and an SBOM that names it', () => {
    const folder = join(project, 'node_modules/deskbell');
    const notices = readFileSync(join(folder, 'THIRD-PARTY-NOTICES.txt'), 'utf8');
    const { components } = JSON.parse(readFileSync(join(folder, 'sbom.cdx.json'), 'utf8')) as {
      readonly components: readonly { readonly name: string; readonly version: string }[];
    };
    const described = new Set(components.map(({ name, version }) => `${name} ${version}`));
    const expected = Object.entries(installed)
      .map(([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 13)} ${version}`)
      .filter((name) => !name.startsWith('deskbell '));
    assert.deepEqual(
      expected.filter((name) => !described.has(name)),
      [],
    );
    assert.deepEqual(
      expected.filter((name) => !notices.includes(`\n${name}\n---`)),
      [],
    );
  });

  test(`importing the sender takes at most ${maxSenderBytes / 1e6} MB of memory`, async (t) => {
    const bytes = (await residentBytes(project, "import 'deskbell';")) - (await residentBytes(project, ''));
    t.diagnostic(`${(bytes / 1e6).toFixed(1)} MB`);
    assert.ok(bytes <= maxSenderBytes, `${bytes} bytes`);
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

/** What Node takes to compile and run a program: the least of five runs, since whatever else runs on the machine only adds. */
async function residentBytes(cwd: string, code: string): Promise<number> {
  await writeFile(join(cwd, 'measured.js'), `${code}\nconsole.log(process.resourceUsage().maxRSS * 1024);\n`);
  const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' };
  const figures: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    // V8 in one thread: what its other threads have done by then depends on how busy the machine is
    const words = ['--single-threaded', 'measured.js'];
    figures.push(Number((await run(process.execPath, words, { cwd, env })).stdout));
  }
  return Math.min(...figures);
}
