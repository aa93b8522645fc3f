// Whose the data directory and its files are: nobody uses what another user could have planted or may change, root least of all.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { toStoreError } from '../../src/store/sqlite/database-errors.ts';
import { databasePathOf, openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { checkData } from '../../src/cli/doctor/checks.ts';
import { writeKeyFile } from '../../src/keys/vapid-key-files.ts';
import { adviceFor, readSecretFiles, secretFileNames } from '../../src/keys/secret-files.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import { runCommand, temporaryFolder } from '../cli/run-command.ts';

const isRoot = process.geteuid?.() === 0;
const skip = !isRoot && 'only root can give files to others';
const other = 12_345;

describe('what belongs to another user', { skip }, () => {
  let data: string;
  beforeEach(async () => {
    data = mkdtempSync(join(tmpdir(), 'deskbell-owners-'));
    const opened = await openDataDirectory(data);
    await opened.subscriberTokenKey();
    await opened.close();
    await runCommand(['webhook-secret', '--data', data]);
    await runCommand(['keys', 'rotate', '--data', data]);
  });
  afterEach(() => rmSync(data, { recursive: true, force: true }));

  const refused = { code: 'ERR_DATA_OWNER', message: /belongs to the user 12345.*runs as the user 0/ };

  test('root refuses a directory of another user, whatever is planted in it', async () => {
    const bytes = Buffer.alloc(32, 7).toString('base64url');
    rmSync(join(data, 'session-key'));
    writeFileSync(join(data, 'session-key'), bytes, { mode: 0o600 });
    for (const name of ['', ...readdirSync(data)]) chownSync(join(data, name), other, other);
    await assert.rejects(openDataDirectory(data), refused);
    await assert.rejects(writeKeyFile(data, generateVapidKeys(), { force: true }), refused);
    const { exitCode, stderr } = await runCommand(['session', 'ada', '--data', data]);
    assert.equal(exitCode, 1);
    assert.match(stderr, /belongs to the user 12345.*Run the command as that user \(sudo -u\).*chown -R/);
    const rights = (await checkData(data, undefined))[0]!;
    assert.deepEqual([rights.subject, rights.status], ['data directory', 'fault']);
    assert.match(rights.cure!, /Run the command as that user/);
  });

  test('an empty directory of another user is no place for new keys', async () => {
    for (const name of readdirSync(data)) rmSync(join(data, name));
    chownSync(data, other, other);
    await assert.rejects(openDataDirectory(data), refused);
    assert.deepEqual(readdirSync(data), []);
  });

  test('each file that holds secrets is refused where it alone is another user’s', async () => {
    const names = readdirSync(data).filter((name) => !name.startsWith('example-users'));
    for (const name of secretFileNames) assert(names.includes(name), name);
    assert(names.length >= secretFileNames.length + 3, String(names));
    for (const name of names) {
      chownSync(join(data, name), other, other);
      await assert.rejects(
        async () => {
          await readSecretFiles(data);
          const opened = await openDataDirectory(data);
          await opened.close();
        },
        refused,
        name,
      );
      const findings = await checkData(data, undefined);
      assert(
        findings.some(({ status, detail }) => status === 'fault' && detail.includes(name)),
        name,
      );
      chownSync(join(data, name), 0, 0);
    }
    await (await openDataDirectory(data)).close();
  });

  test('a user uses a directory of its own', async () => {
    for (const name of ['', ...readdirSync(data)]) chownSync(join(data, name), other, other);
    const planted = await temporaryFolder();
    chmodSync(planted, 0o755);
    chownSync(planted, 4, 4);
    const script = `
      const { statSync } = require('node:fs');
      const { assertDirectoryIsProtected, assertOwned } = await import(process.argv[1]);
      process.setgroups([]); process.setgid(${other}); process.setuid(${other});
      assertDirectoryIsProtected(process.argv[2]);
      assertOwned('file', statSync(process.argv[2] + '/session-key'));
      assertOwned('of root', { uid: 0 });
      assertDirectoryIsProtected('/');
      for (const check of [() => assertOwned('planted', { uid: 4 }), () => assertDirectoryIsProtected(process.argv[3])])
        try { check() } catch ({ code }) { console.log(code) }
    `;
    const module = new URL('../../src/keys/private-file.ts', import.meta.url).href;
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--input-type=module',
      '-e',
      `import { createRequire } from 'node:module'; const require = createRequire('/');${script}`,
      module,
      data,
      planted,
    ]);
    assert.equal(stdout, 'ERR_DATA_OWNER\n'.repeat(2));
  });
});

test('doctor sees a broken secret as what uses it does, and says what a new one costs', async () => {
  const data = await temporaryFolder();
  await (await openDataDirectory(data)).close();
  for (const name of secretFileNames) {
    const path = join(data, name);
    rmSync(path, { force: true });
    writeFileSync(path, 'c2hvcnQ', { mode: 0o600 });
    const rights = (await checkData(data, undefined))[0]!;
    assert.equal(rights.status, 'fault', name);
    assert(rights.detail.includes(name) && rights.detail.includes('32 bytes'), rights.detail);
    assert(rights.detail.includes(adviceFor(name).replace(/\.$/, '')), rights.detail);
    assert.match(adviceFor(name), /delete it: a new one is made then, and /);
    assert.doesNotMatch(`${rights.detail} ${rights.cure}`, /pair|lose every subscriber/);
    rmSync(path);
  }
  writeFileSync(join(data, 'session-key'), 'c2hvcnQ', { mode: 0o600 });
  const { exitCode, stderr } = await runCommand(['session', 'ada', '--data', data]);
  assert.equal(exitCode, 1);
  assert.match(stderr, /session-key cannot be used.*delete it: a new one is made then, and all sessions end/);
  assert.doesNotMatch(stderr, /pair/);
  rmSync(join(data, 'session-key'));
  assert.equal((await checkData(data, undefined))[0]!.status, 'ok');
});

const disk = mkdtempSync(join(tmpdir(), 'deskbell-read-only-'));
const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=700', 'tmpfs', disk]).status === 0;

const remount = (how: string) => assert.equal(spawnSync('mount', ['-o', `remount,${how}`, disk]).status, 0);

test(
  'a read-only file system is called so, and room is not asked for',
  {
    skip: !isMounted && process.env['CI'] !== 'true' && 'a disk of its own cannot be mounted here',
  },
  async () => {
    try {
      for (const isUsed of [false, true]) {
        const data = join(disk, String(isUsed));
        if (isUsed) await (await openDataDirectory(data)).close();
        remount('ro');
        const findings = await checkData(isUsed ? data : disk, undefined);
        const room = findings.find(({ subject }) => subject === 'disk')!;
        assert.deepEqual([room.status, /read-only/.test(room.detail)], ['fault', true]);
        assert.doesNotMatch(JSON.stringify(findings), /Free some space|missing/);
        if (isUsed) {
          const database = findings.find(({ subject }) => subject === 'database')!;
          assert.match(`${database.status} ${database.detail}`, /^fault .*its file system is read-only/);
          // what SQLite reports where a disk became read-only while the database was open: SQLITE_IOERR_WRITE
          const fault = Object.assign(new Error('disk I/O error'), { errcode: 778 });
          assert.match(String(toStoreError(fault, databasePathOf(data))), /its file system is read-only/);
        }
        await assert.rejects(openDataDirectory(data), (error: Error) => {
          assert.match(`${error.message} ${String(error.cause)}`, /read-only/);
          assert.doesNotMatch(error.message, /missing/);
          return true;
        });
        remount('rw');
      }
    } finally {
      spawnSync('umount', [disk]);
      rmSync(disk, { recursive: true });
    }
  },
);
