// `deskbell backup` and `deskbell restore`: a data directory in one file, made while it is in use.
import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import fileSystem, {
  chmod,
  mkdir,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, suite, test } from 'node:test';
import { backUp, restore } from '../../src/cli/data/backup-file.ts';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { rotateKeys } from '../../src/cli/data/key-rotation.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { loadOrCreateSecret, secretFileNames } from '../../src/keys/secret-files.ts';
import { startPushService } from '../../src/push-service/index.ts';
import { openExampleUsers } from '../../src/service/demonstration/users.ts';
import { madeUpSubscription } from '../store/made-up-subscription.ts';
import { exampleSubscription } from './example-subscriptions.ts';
import { outputOf, runCommand, runUntilStopped, storeSinks, temporaryFolder } from './run-command.ts';
import { fastFolder } from '../../tools/fast-folder.ts';
import { until } from '../../tools/until.ts';

const message = { title: 'Hello', message: 'from before the backup' };
const subject = 'mailto:push@example.org';

/** A data directory with all that one may hold: two key pairs, four other keys, subscriptions, an example user that was changed. */
async function makeData(data: string): Promise<void> {
  const input = ['a', 'b'].map((name) => `${JSON.stringify(exampleSubscription(name))}\n`).join('');
  await outputOf(runCommand(['keys', 'generate', '--data', data]));
  await outputOf(runCommand(['subscriptions', 'import', '-', '--data', data], { input }));
  await outputOf(runCommand(['keys', 'rotate', '--data', data]));
  await writeFile(join(data, 'settings.json'), '{"subject":"mailto:kept@example.org"}', { mode: 0o600 });
  for (const name of secretFileNames) await loadOrCreateSecret(data, name);
  const users = openExampleUsers({ path: join(data, 'example-users.db') });
  await users.update({ id: 1n, name: 'Grace Changed', email: 'grace@example.org' });
  users.close();
}

/** The private halves and the session key, as they stand in their files. */
async function secretsOf(data: string): Promise<readonly string[]> {
  const names = (await readdir(data)).filter(
    (name) => !name.includes('.db') && !['settings.json', 'last-backup', '.gitignore'].includes(name),
  );
  assert.equal(names.length, 7, 'a copy of the current pair, two pairs, four keys');
  const texts = await Promise.all(names.map((name) => readFile(join(data, name), 'utf8')));
  return texts.map(
    (text) => (JSON.parse(text.replace(/^[\w-]+$/m, '{"privateKey":"$&"}')) as any).privateKey,
  );
}

async function assertHoldsNone(file: string, secrets: readonly string[]): Promise<void> {
  const bytes = await readFile(file);
  for (const secret of secrets) assert.equal(bytes.indexOf(secret), -1);
}

suite('a backup', () => {
  const data = mkdtempSync(join(fastFolder(), 'deskbell-backup-'));
  before(() => makeData(data));
  after(() => rm(data, { recursive: true }));

  test('with keys restores to the same directory: each file, its rights, and nothing else', async () => {
    const folder = await temporaryFolder();
    const file = join(folder, 'backup');
    const written = await outputOf(runCommand(['backup', file, '--with-keys', '--data', data]));
    assert.match(written, /backup holds \S+, with keys: [\d.]+ kB\.\n$/);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    // as a copy from elsewhere may have it
    await chmod(file, 0o644);
    assert.deepEqual(await readdir(folder), ['backup']);

    const restored = join(folder, 'new', 'data');
    const stdout = await outputOf(runCommand(['restore', file, '--data', restored]));
    assert.match(stdout, /is restored with 2 subscriptions\.\n$/);
    // when this directory was backed up is no fact of the restored one
    const names = (await readdir(data)).filter((name) => name !== 'last-backup').toSorted();
    assert.deepEqual((await readdir(restored)).toSorted(), ['.gitignore', ...names].toSorted());
    for (const name of names) {
      assert.equal((await stat(join(restored, name))).mode & 0o777, 0o600, name);
      if (name.includes('.db')) continue;
      assert.equal(await readFile(join(restored, name), 'utf8'), await readFile(join(data, name), 'utf8'));
    }
    // the database that has held them for a moment keeps no trace
    await assertHoldsNone(join(restored, 'deskbell.db'), await secretsOf(data));
    const users = openExampleUsers({ path: join(restored, 'example-users.db') });
    assert.equal((await users.find(1n))?.name, 'Grace Changed');
    users.close();
    const exports = await Promise.all(
      [data, restored].map((each) => runCommand(['subscriptions', 'export', '--data', each])),
    );
    assert.equal(exports[0]?.stdout, exports[1]?.stdout);
  });

  test('without keys holds no secret of them, and needs the key files', async () => {
    const folder = await temporaryFolder();
    const file = join(folder, 'backup');
    const written = await runCommand(['backup', file, '--data', data, '--json']);
    assert.deepEqual(JSON.parse(written.stdout), { file, bytes: (await stat(file)).size, withKeys: false });
    await assertHoldsNone(file, await secretsOf(data));
    assert.ok((await readFile(file)).includes('mailto:kept@example.org'), 'settings are in every backup');

    const restored = join(folder, 'data');
    const missing = await runCommand(['restore', file, '--data', restored]);
    assert.equal(missing.exitCode, 1);
    assert.match(
      missing.stderr,
      /made without --with-keys, and .*data has no vapid-keys\.json.*ERR_KEY_FILE_MISSING/,
    );
    assert.deepEqual(await readdir(restored), ['.gitignore'], 'as if it had not been tried');

    const foreign = join(folder, 'foreign');
    await runCommand(['keys', 'generate', '--data', foreign]);
    const wrong = await runCommand(['restore', file, '--data', foreign]);
    assert.match(
      wrong.stderr,
      /No key file in \S+foreign has the private half of the current key B[\w-]{86}\..*ERR_KEY_FILE_MISSING/,
    );
    assert.deepEqual((await readdir(foreign)).toSorted(), ['.gitignore', 'vapid-keys.json']);

    for (const name of (await readdir(data)).filter((each) => each.startsWith('vapid-keys'))) {
      await writeFile(join(restored, name), await readFile(join(data, name)), { mode: 0o600 });
    }
    const ownSettings = '{"subject":"mailto:new@example.org"}';
    await writeFile(join(restored, 'settings.json'), ownSettings, { mode: 0o600 });
    const right = await runCommand(['restore', file, '--data', restored, '--json']);
    const { sending, ...others } = JSON.parse(right.stdout) as Record<string, unknown>;
    assert.deepEqual(others, { data: restored, subscriptions: 2, paused: [] });
    assert.equal((sending as Record<string, unknown>)['paused'], true);
    assert.equal(await readFile(join(restored, 'settings.json'), 'utf8'), ownSettings);
  });

  test('is for SQLite: with a database in PostgreSQL none is made or restored', async () => {
    const folder = await temporaryFolder();
    const [file, restored] = [join(folder, 'backup'), join(folder, 'restored')];
    await backUp(data, file, { withKeys: true });
    const environment = { DESKBELL_DATABASE: 'postgres://ada:secret@127.0.0.1:1/deskbell' };
    for (const [words, tool] of [
      [['backup', join(folder, 'other'), '--data', data], 'pg_dump'],
      [['restore', file, '--data', restored], 'pg_restore'],
    ] as const) {
      const { exitCode, stderr } = await runCommand(words, { environment });
      assert.equal(exitCode, 2);
      assert.match(stderr, new RegExp(`Use ${tool} for PostgreSQL`));
    }
    assert.deepEqual(await readdir(folder), ['backup']);
  });

  test('replaces nothing: neither a file, nor a database, nor another key', async () => {
    const folder = await temporaryFolder();
    const file = join(folder, 'backup');
    await backUp(data, file, { withKeys: true });
    const written = await readFile(file);
    await assert.rejects(backUp(data, file, { withKeys: true }), {
      code: 'ERR_FILE',
      message: /exists already/,
    });
    assert.deepEqual(await readFile(file), written);
    const database = await readFile(join(data, 'deskbell.db'));
    await assert.rejects(restore(file, data), { code: 'ERR_DATA_EXISTS' });
    assert.deepEqual(await readFile(join(data, 'deskbell.db')), database);

    const foreign = join(folder, 'foreign');
    await runCommand(['keys', 'generate', '--data', foreign]);
    const key = await readFile(join(foreign, 'vapid-keys.json'));
    await assert.rejects(restore(file, foreign), { code: 'ERR_KEY_FILE_EXISTS' });
    assert.deepEqual((await readdir(foreign)).toSorted(), ['.gitignore', 'vapid-keys.json']);
    assert.deepEqual(await readFile(join(foreign, 'vapid-keys.json')), key);
    assert.deepEqual((await readdir(folder)).toSorted(), ['backup', 'foreign']);

    const away = join(folder, 'away');
    await mkdir(away, { mode: 0o700 });
    await symlink(join(folder, 'not-mounted'), join(away, 'session-key'));
    await assert.rejects(restore(file, away), { code: 'ERR_KEY_FILE_EXISTS' });
    assert.ok(!(await readdir(away)).includes('deskbell.db'), 'the database comes after the keys');

    for (const side of ['deskbell.db-wal', 'deskbell.db-shm']) {
      const moved = join(folder, side);
      await mkdir(moved, { mode: 0o700 });
      await writeFile(join(moved, side), 'of a database that was moved away');
      await assert.rejects(restore(file, moved), { code: 'ERR_DATA_EXISTS', message: new RegExp(side) });
      assert.deepEqual(await readdir(moved), [side]);
    }

    const taken = join(folder, 'taken');
    await mkdir(taken, { mode: 0o700 });
    await writeFile(join(taken, 'example-users.db'), '');
    await assert.rejects(restore(file, taken), { code: 'ERR_DATA_EXISTS' });
    assert.ok(!(await readdir(taken)).includes('deskbell.db'), 'it comes last');
  });

  test('that is damaged, of another program or of a newer version makes no data directory', async () => {
    const folder = await temporaryFolder();
    const change = async (name: string, sql: string): Promise<string> => {
      const file = join(folder, name);
      await backUp(data, file, { withKeys: true });
      const database = new DatabaseSync(file);
      database.exec(sql);
      database.close();
      return file;
    };
    const damaged = join(folder, 'damaged');
    await backUp(data, damaged, { withKeys: true });
    const bytes = await readFile(damaged);
    await writeFile(damaged, bytes.fill(0xff, 4096, 3 * 4096));
    const empty = join(folder, 'empty');
    await writeFile(empty, '');
    const text = join(folder, 'text');
    await writeFile(text, 'a diary of some length, which is no database whatever it is taken for'.repeat(20));
    for (const [file, code] of [
      [await change('newer', 'pragma user_version = 9999'), 'ERR_STORE_TOO_NEW'],
      [await change('foreign', 'pragma application_id = 7'), 'ERR_STORE_CORRUPT'],
      [damaged, 'ERR_STORE_CORRUPT'],
      [empty, 'ERR_STORE_CORRUPT'],
      [text, 'ERR_STORE_CORRUPT'],
      [join(folder, 'none'), 'ENOENT'],
    ] as const) {
      const target = join(folder, 'target');
      await assert.rejects(restore(file, target), { code }, file);
      await assert.rejects(stat(target), { code: 'ENOENT' });
    }
    const { stderr } = await runCommand(['restore', text, '--data', join(folder, 'target')]);
    assert.match(
      stderr,
      /text is not a database\. Give a file that `deskbell backup` wrote; .* \[ERR_STORE_CORRUPT\]/,
    );
  });

  test('of a database that is damaged is not made', async () => {
    const folder = await temporaryFolder();
    const broken = join(folder, 'data');
    await mkdir(broken, { mode: 0o700 });
    const path = join(data, 'deskbell.db');
    using database = new DatabaseSync(path, { readOnly: true });
    const row = database.prepare("select rootpage from sqlite_schema where name = 'subscriptions'").get();
    const page = Number(row?.['rootpage']);
    const bytes = (await readFile(path)).fill(0xff, (page - 1) * 4096, page * 4096);
    await writeFile(join(broken, 'deskbell.db'), bytes, { mode: 0o600 });
    await assert.rejects(backUp(broken, join(folder, 'backup'), { withKeys: false }), {
      code: 'ERR_STORE_CORRUPT',
    });
    assert.deepEqual(await readdir(folder), ['data']);
  });

  test('that cannot be written leaves nothing behind', async () => {
    const folder = await temporaryFolder();
    const { exitCode, stderr } = await runCommand(['backup', join(folder, 'none', 'backup'), '--data', data]);
    assert.equal(exitCode, 1);
    assert.match(stderr, /cannot be written: no such file or directory.*ERR_FILE/);
    const exposed = join(folder, 'data');
    await mkdir(exposed);
    await writeFile(join(exposed, 'deskbell.db'), await readFile(join(data, 'deskbell.db')), { mode: 0o600 });
    await writeFile(join(exposed, 'session-key'), 'x', { mode: 0o644 });
    await chmod(join(exposed, 'session-key'), 0o644);
    await assert.rejects(backUp(exposed, join(folder, 'backup'), { withKeys: true }), {
      code: 'ERR_KEY_FILE_EXPOSED',
    });
    assert.deepEqual(await readdir(folder), ['data']);
  });
});

test('a backup has the private half of each key that its database names, whenever the pair is rotated', async (t) => {
  const folder = await temporaryFolder();
  const path = join(folder, 'data');
  const data = await openDataDirectory(path);
  t.after(() => data.close());
  // between the moment when the key files are listed and the one when they are read
  const list = fileSystem.readdir as (directory: string) => Promise<string[]>;
  let lists = 0;
  t.mock.method(fileSystem, 'readdir', async (directory: string) => {
    const names = await list(directory);
    if (directory === path && (lists += 1) === 1) await rotateKeys(path, data.store);
    return names;
  });
  t.after(syncBuiltinESMExports);
  syncBuiltinESMExports();
  await backUp(path, join(folder, 'backup'), { withKeys: true });
  assert.ok(lists > 0);

  await restore(join(folder, 'backup'), join(folder, 'restored'));
  const restored = await openDataDirectory(join(folder, 'restored'));
  t.after(() => restored.close());
  assert.equal(restored.vapidKeys.publicKey, data.vapidKeys.publicKey, 'the rotation came after the copy');
});

/** Interrupts a command as soon as the directory has a file whose name starts with `begun`, which must then be gone. */
async function interrupt(words: readonly string[], directory: string, begun: string): Promise<void> {
  const command = runUntilStopped(words);
  const isBegun = async () => (await readdir(directory)).some((name) => name.startsWith(begun));
  await until(isBegun, () => `no ${begun} in ${directory}`);
  assert.equal(await command.end('SIGINT'), 1);
  assert.match(command.written(), /Interrupted by SIGINT.*ERR_INTERRUPTED/);
  assert.equal(await isBegun(), false);
}

test('a backup and a restore that are interrupted end soon, and leave nothing behind', async () => {
  const folder = await temporaryFolder();
  const [path, file, restored] = [join(folder, 'data'), join(folder, 'backup'), join(folder, 'restored')];
  await (await openDataDirectory(path)).close();
  const database = new DatabaseSync(join(path, 'deskbell.db'));
  database.exec(`
    create table filling (content blob);
    with recursive row (number) as (select 1 union all select number + 1 from row where number < 50)
    insert into filling select randomblob(2000000) from row`);
  database.close();
  await interrupt(['backup', '--with-keys', file, '--data', path], folder, '.backup');
  assert.deepEqual(await readdir(folder), ['data']);

  await backUp(path, file, { withKeys: true });
  await mkdir(restored, { mode: 0o700 });
  await interrupt(['restore', file, '--data', restored], restored, '.restore');
  assert.deepEqual(
    (await readdir(restored)).filter((name) => name !== '.gitignore'),
    [],
  );
});

test('a backup made while registering and sending is one moment: counts add up, and the rest is delivered', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'data');
  const audience = 400;
  await using pushService = await startPushService({ checksBodies: false });
  const data = await openDataDirectory(path);
  const sinks = await storeSinks(data, pushService, audience);
  // so that it is not over before the last backup is made
  pushService.faults.inject({ kind: 'status', status: 503, retryAfter: 1, endpoint: sinks[0]!.endpoint });
  const options = { pushServices: [pushService.origin], threads: 0 };
  const sender = createSender({ ...options, store: data.store, vapid: { ...data.vapidKeys, subject } });
  const run = await sender.broadcast('all', message);
  let registered = 0;
  const sent = new AbortController();
  const register = async (): Promise<void> => {
    while (!sent.signal.aborted) {
      await data.store.subscriptions.put(madeUpSubscription(registered), data.vapidKeys.publicKey);
      registered += 1;
    }
  };
  const registering = register();
  const backups: { readonly file: string; readonly registered: number }[] = [];
  for await (const { broadcast } of run.progress()) {
    assert.equal(broadcast.state, 'running');
    const file = join(folder, `backup-${backups.length}`);
    backups.push({ file, registered });
    await backUp(path, file, { withKeys: true });
    if (broadcast.counts.accepted > 0) break;
  }
  pushService.faults.clear();
  await run.finished;
  sent.abort();
  await registering;
  await sender.close();
  await data.close();

  assert.ok(backups.length > 0);
  for (const [index, backup] of backups.entries()) {
    const directory = join(folder, `restored-${index}`);
    const restored = await restore(backup.file, directory);
    assert.ok(
      restored.subscriptions >= audience + backup.registered,
      'what was acknowledged before is in it',
    );
    assert.deepEqual(restored.resumption.broadcastIds, [1]);
  }

  await rename(join(folder, 'restored-0'), path.replace('data', 'again'));
  const again = await openDataDirectory(join(folder, 'again'));
  const paused = await again.store.broadcasts.find(1);
  assert.equal(paused?.state, 'paused');
  assert.equal(paused.counts.accepted + paused.counts.pending, audience);
  const next = createSender({ ...options, store: again.store, vapid: { ...again.vapidKeys, subject } });
  const resumed = await next.resume(1);
  const { state, counts } = await resumed.finished;
  assert.deepEqual([state, counts.accepted], ['done', audience]);
  await next.close();
  await again.close();
});
