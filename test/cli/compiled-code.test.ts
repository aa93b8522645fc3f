// Where the command keeps what Node has compiled of it: who can write there can have it run code of theirs.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import { mainFile, temporaryFolder } from './run-command.ts';

const loadModule = `require('./src/cli/compiled-code.cts').keepCompiledCode(); require('./src/require-node.cts')`;

/** Loads a module with this home. @returns what is compiled code for the next run, and what is left of temporary files */
async function runIn(home: string, words: readonly string[] = ['-e', loadModule]) {
  const temporary = await temporaryFolder();
  const env = { HOME: home, TMPDIR: temporary };
  await promisify(execFile)(process.execPath, words, { env });
  const folder = folderIn(home);
  return { compiled: existsSync(folder) ? readdirSync(folder) : [], temporary: readdirSync(temporary) };
}

const folderIn = (home: string): string => join(home, '.cache/deskbell/compiled');

suite('what is compiled of the command', () => {
  test('is kept in the home directory, for its user alone, and not among temporary files', async () => {
    const home = await temporaryFolder();
    const { compiled, temporary } = await runIn(home, [mainFile, '--version']);
    assert.notDeepEqual(compiled, []);
    assert.deepEqual(temporary, []);
    assert.equal(statSync(folderIn(home)).mode & 0o777, 0o700);
  });

  for (const [what, prepare] of [
    ['the home is one that others can write to', (home: string) => chmodSync(home, 0o777)],
    [
      'others can write to a folder above it',
      (home: string) => {
        mkdirSync(folderIn(home), { recursive: true });
        chmodSync(join(home, '.cache'), 0o777);
      },
    ],
    [
      'others can write to the folder',
      (home: string) => {
        mkdirSync(folderIn(home), { recursive: true });
        chmodSync(folderIn(home), 0o770);
      },
    ],
  ] as const) {
    test(`is not kept where ${what}`, async () => {
      const home = await temporaryFolder();
      prepare(home);
      assert.deepEqual(await runIn(home), { compiled: [], temporary: [] });
    });
  }

  const skip = process.getuid?.() === 0 ? false : 'only root can give a file to another user';
  test(
    'is not kept in what belongs to another user, such as by root in the home of who called sudo',
    { skip },
    async () => {
      const other = 65_534;
      const home = await temporaryFolder();
      chownSync(home, other, other);
      assert.deepEqual(await runIn(home), { compiled: [], temporary: [] });
      chownSync(home, 0, 0);
      mkdirSync(folderIn(home), { recursive: true });
      chownSync(folderIn(home), other, other);
      assert.deepEqual(await runIn(home), { compiled: [], temporary: [] });
      chownSync(folderIn(home), 0, 0);
      assert.notDeepEqual((await runIn(home)).compiled, []);
      for (const between of ['.cache', '.cache/deskbell']) {
        chownSync(join(home, between), other, other);
        rmSync(folderIn(home), { recursive: true });
        mkdirSync(folderIn(home));
        assert.deepEqual((await runIn(home)).compiled, [], between);
        chownSync(join(home, between), 0, 0);
      }
    },
  );

  test('is not looked for where there is no home', async () => {
    assert.deepEqual(await runIn('/nonexistent'), { compiled: [], temporary: [] });
  });
});
