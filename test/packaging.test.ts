// What each entry of the package loads: it is bundled as it is published. All else of the packed package: packaging.all.test.ts.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { bundle } from '../scripts/bundle.ts';
import { readPackageEntries, root } from '../scripts/repository.ts';

const run = promisify(execFile);

suite('the published code', () => {
  let folder: string;

  before(async () => {
    await mkdir(join(root, 'build'), { recursive: true });
    // within the repository, where the packages that it loads are found
    folder = await mkdtemp(join(root, 'build/package-'));
    await Promise.all([
      bundle(join(folder, 'dist')),
      cp(join(root, 'package.json'), join(folder, 'package.json')),
    ]);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** Runs an ES module within the package, which finds itself by its name. @returns what it prints */
  const evaluate = async (program: string): Promise<unknown> => {
    const words = ['--input-type=module', '--eval', program];
    return JSON.parse((await run(process.execPath, words, { cwd: folder })).stdout);
  };

  for (const [entry, allowed] of [
    ['deskbell', []],
    ['deskbell/protocol', []],
    ['deskbell/push-service', ['http_ece', 'ipaddr.js', 'ws']],
    ['deskbell/web-push', ['http_ece', 'ipaddr.js']],
  ] as const) {
    const what = allowed.length === 0 ? 'no other package' : `only ${allowed.join(' and ')}`;
    test(`\`${entry}\` loads ${what}`, async () => {
      const loaded = await evaluate(`
        import { registerHooks } from 'node:module';
        const packages = new Set();
        registerHooks({
          load(url, context, nextLoad) {
            const [, name] = /\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? [];
            if (name !== undefined) packages.add(name);
            return nextLoad(url, context);
          },
        });
        await import('${entry}');
        console.log(JSON.stringify([...packages].sort()));
      `);
      assert.deepEqual(loaded, allowed);
    });
  }

  test('`deskbell` loads nothing for connections, threads and databases before they are needed', async () => {
    const late = ['child_process', 'dns', 'http', 'https', 'sqlite', 'tls', 'worker_threads', 'zlib'];
    const loaded = (await evaluate(`
      const before = new Set(process.moduleLoadList);
      await import('deskbell');
      console.log(JSON.stringify(process.moduleLoadList.filter((name) => !before.has(name))));
    `)) as readonly string[];
    const early = late.filter((name) => loaded.includes(`NativeModule ${name}`));
    assert.deepEqual(early, []);
  });

  test('`import` and `require` of every entry give the same things', async () => {
    const entries = Object.entries(readPackageEntries()).filter(([, entry]) => typeof entry === 'object');
    const names = entries.map(([path]) => path.replace('.', 'deskbell'));
    const different = await evaluate(`
      import { createRequire } from 'node:module';
      const require = createRequire(process.cwd() + '/index.js');
      const different = [];
      for (const entry of ${JSON.stringify(names.filter((name) => !/client|react|subscribe/.test(name)))}) {
        const [imported, required] = [await import(entry), require(entry)];
        for (const [name, value] of Object.entries(required)) if (imported[name] !== value) different.push(entry + ' ' + name);
      }
      console.log(JSON.stringify(different));
    `);
    assert.deepEqual(different, []);
  });
});
