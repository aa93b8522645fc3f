// How large an install of the packed package is, what comes with it, and what each entry loads of it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { readLockedPackages } from '../scripts/locked-packages.ts';
import { pack } from '../tools/pack.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');

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

suite('an install of the package', () => {
  let project: string;
  let installed: Readonly<Record<string, { readonly version: string }>>;

  before(async () => {
    project = await mkdtemp(join(tmpdir(), 'deskbell-install-'));
    const tarball = await pack();
    await writeFile(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    // the versions that it was packed with: those of the dependencies' dependencies are newer with every day that passes
    await writeFile(
      join(project, 'package-lock.json'),
      JSON.stringify({ lockfileVersion: 3, packages: lockedPackages() }),
    );
    await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball], {
      cwd: project,
    });
    const lock = readFileSync(join(project, 'node_modules/.package-lock.json'), 'utf8');
    ({ packages: installed } = JSON.parse(lock) as { packages: typeof installed });
  });
  after(() => rm(project, { recursive: true, force: true, maxRetries: 3 }));

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

  test('holds every file that its README links to', () => {
    const folder = join(project, 'node_modules/deskbell');
    const readme = readFileSync(join(folder, 'README.md'), 'utf8');
    const files = Array.from(readme.matchAll(/\]\((?!https?:)([^)#]+)/g), ([, file]) => file!);
    assert.deepEqual(
      files.filter((file) => !existsSync(join(folder, file))),
      [],
    );
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

  for (const [entry, allowed] of [
    ['deskbell', []],
    ['deskbell/protocol', []],
    ['deskbell/push-service', ['http_ece', 'ws']],
    ['deskbell/web-push', ['http_ece', 'ipaddr.js']],
  ] as const) {
    test(`\`${entry}\` loads ${allowed.length === 0 ? 'no other package' : `only ${allowed.join(' and ')}`}`, async () => {
      const program = `
        import { registerHooks } from 'node:module';
        const loaded = new Set();
        registerHooks({
          load(url, context, nextLoad) {
            const path = url.split('/node_modules/').at(-1);
            loaded.add(/^(@[^/]+\\/)?[^/]+/.exec(path)[0]);
            return nextLoad(url, context);
          },
        });
        await import('${entry}');
        console.log(JSON.stringify([...loaded].filter((name) => !name.startsWith('node:') && name !== 'deskbell')));
      `;
      const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], {
        cwd: project,
      });
      const unexpected = (JSON.parse(stdout) as string[]).filter(
        (name) => !allowed.some((known) => known === name),
      );
      assert.deepEqual(unexpected, []);
    });
  }

  test('`deskbell` loads nothing for connections, threads and databases before they are needed', async () => {
    const late = ['child_process', 'dns', 'http', 'https', 'sqlite', 'tls', 'worker_threads', 'zlib'];
    const program = `
      const before = new Set(process.moduleLoadList);
      await import('deskbell');
      console.log(JSON.stringify(process.moduleLoadList.filter((name) => !before.has(name))));
    `;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: project,
    });
    const loaded = JSON.parse(stdout) as string[];
    assert.deepEqual(
      late.filter((name) => loaded.includes(`NativeModule ${name}`)),
      [],
    );
  });

  test(`importing the sender takes at most ${maxSenderBytes / 1e6} MB of memory`, async (t) => {
    const bytes = (await residentBytes(project, "import 'deskbell';")) - (await residentBytes(project, ''));
    t.diagnostic(`${(bytes / 1e6).toFixed(1)} MB`);
    assert.ok(bytes <= maxSenderBytes, `${bytes} bytes`);
  });
});

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
