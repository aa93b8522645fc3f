// `deskbell alarms`: what is wrong now, and who knows of it.
import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { exampleSubscription } from './example-subscriptions.ts';
import { runCommand, temporaryFolder } from './run-command.ts';

test('lists what is wrong, and acknowledges it with a name and a note, which the audit keeps', async () => {
  const data = await temporaryFolder();
  const run = (...words: string[]) => runCommand([...words, '--data', data]);
  await run('keys', 'generate');
  const none = await run('alarms', 'list');
  const words = 'Nothing is wrong now. "deskbell broadcasts show" prints what a broadcast has met.\n';
  assert.deepEqual([none.stdout, none.stderr, none.exitCode], ['', words, 0]);

  const input = JSON.stringify(exampleSubscription(1));
  await runCommand(['subscriptions', 'import', '-', '--data', data], { input });
  const message = ['--title', 't', '--message', 'm', '--subject', 'mailto:push@example.org'];
  await run('send', '--all', '--at', '2099-01-01T09:00:00Z', ...message);
  await run('sending', 'pause');
  const paused = await run('alarms', 'list');
  assert.match(
    paused.stdout,
    /^sending-paused  Sending is paused\n  1 broadcast, since 20.*Z, broadcasts 1\n  Reason: by "deskbell sending pause".*resume"\.\n$/,
  );
  const note = ['--note', 'Until the copy is gone.'];
  const known = await run('alarms', 'acknowledge', 'sending-paused', '--name', 'ann', ...note);
  assert.equal(known.stdout, 'Acknowledged sending-paused as ann.\n', known.stderr);
  const { acknowledgement } = JSON.parse((await run('alarms', 'list', '--json')).stdout);
  assert.deepEqual([acknowledgement.operator, acknowledgement.note], ['ann', 'Until the copy is gone.']);
  assert.match(
    (await run('alarms', 'list')).stdout,
    /\n  ann knows of it since 20.*: Until the copy is gone\.\n$/,
  );
  const [record, before] = (await run('audit', '--json')).stdout.split('\n');
  assert.equal(JSON.parse(before!).action, 'sending.pause');
  const { operator, action, target, status } = JSON.parse(record!);
  assert.deepEqual(
    [operator, action, target, status],
    ['ann', 'alarm.acknowledge', 'alarm sending-paused', 200],
  );

  const unknown = await run('alarms', 'acknowledge', 'no-worker', ...note);
  assert.equal(unknown.exitCode, 1);
  assert.match(unknown.stderr, /No alarm "no-worker" stands\. It has ended; .*ERR_ALARM_NOT_FOUND/);
  assert.equal((await run('alarms', 'acknowledge', 'sending-paused')).exitCode, 2, 'a note is needed');
  const empty = await run('alarms', 'acknowledge', 'sending-paused', '--note', ' ');
  assert.match(empty.stderr, /It must have 1 to 500 characters/);

  const database = new DatabaseSync(join(data, 'deskbell.db'));
  database.exec('drop table acknowledgements');
  database.close();
  const broken = await run('alarms', 'acknowledge', 'sending-paused', '--name', 'ann', ...note);
  assert.equal(broken.exitCode, 1);
  const statuses = (await run('audit', '--json')).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).status);
  assert.deepEqual(statuses, [503, 404, 200, 200]);
});

test('the audit names a user that has no name by its number', async (t) => {
  const data = await temporaryFolder();
  await runCommand(['keys', 'generate', '--data', data]);
  const unknown = t.mock.method(os, 'userInfo', () => {
    throw Object.assign(new Error('uv_os_get_passwd'), { code: 'ENOENT', syscall: 'uv_os_get_passwd' });
  });
  syncBuiltinESMExports();
  t.after(() => {
    unknown.mock.restore();
    syncBuiltinESMExports();
  });
  const words = ['alarms', 'acknowledge', 'no-worker', '--note', 'Known.', '--data', data];
  await runCommand(words);
  const { stdout } = await runCommand(['audit', '--json', '--data', data]);
  assert.equal(JSON.parse(stdout).operator, `uid ${process.getuid?.() ?? 'unknown'}`);
});
