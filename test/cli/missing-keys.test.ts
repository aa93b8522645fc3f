// The private half of a former pair is gone while subscriptions need it: everybody who looks says so.
import assert from 'node:assert/strict';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { exampleSubscription } from './example-subscriptions.ts';
import { parseLines, runCommand, runUntilStopped, serve, temporaryFolder } from './run-command.ts';

test('a missing key file that subscriptions need is told by doctor, keys list, worker, serve and /readyz', async () => {
  const folder = await temporaryFolder();
  const data = join(folder, 'data');
  const environment = { DESKBELL_DATA: data, DESKBELL_SUBJECT: 'mailto:push@example.org' };
  const run = (words: readonly string[], input = '') => runCommand(words, { environment, input });
  const { publicKey } = JSON.parse((await run(['keys', 'generate', '--json'])).stdout) as {
    publicKey: string;
  };
  const input = ['a', 'b'].map((name) => `${JSON.stringify(exampleSubscription(name))}\n`).join('');
  assert.equal((await run(['subscriptions', 'import', '-'], input)).exitCode, 0);
  const rotated = await run(['keys', 'rotate', '--json']);
  const { publicKey: current } = JSON.parse(rotated.stdout) as { publicKey: string };
  const keyFile = `vapid-keys-${publicKey.slice(0, 21)}.json`;
  const listKeys = async () => parseLines((await run(['keys', 'list', '--json'])).stdout) as object[];
  const listed = (hasKeyFile: boolean) => [
    { publicKey, state: 'previous', subscriptions: 2, hasKeyFile },
    { publicKey: current, state: 'current', subscriptions: 0, hasKeyFile: true },
  ];
  const examineKeys = async () => {
    const { exitCode, stdout } = await run(['doctor', '--json']);
    return { exitCode, finding: parseLines(stdout).find(({ subject }) => subject === 'keys') };
  };
  assert.deepEqual(await listKeys(), listed(true));
  assert.equal((await examineKeys()).finding.status, 'ok');

  const aside = join(folder, 'aside');
  await mkdir(aside);
  await rename(join(data, keyFile), join(aside, keyFile));
  const says = new RegExp(
    `No key file in ${data} has the private half of the VAPID key ${publicKey} \\(previous, 2 subscriptions\\)`,
  );
  const { exitCode, finding } = await examineKeys();
  assert.equal(exitCode, 1);
  assert.equal(finding.status, 'fault');
  assert.match(finding.detail, says);
  assert.match(finding.cure, /^Put the key file back/);
  assert.deepEqual(await listKeys(), listed(false));
  const list = await run(['keys', 'list']);
  assert.match(list.stdout, new RegExp(`^previous +2 {2}${publicKey} {2}no key file$`, 'm'));
  assert.match(list.stderr, says);

  const worker = runUntilStopped(['worker', '--json'], { environment });
  await worker.waitFor(/"event":"ready"/);
  assert.match(worker.written(), says);
  const service = await serve([], { environment });
  await service.waitFor(says);
  const ready = async () => (await fetch(`${service.address}/readyz`)).json();
  assert.deepEqual(await ready(), { status: 'ready', warnings: ['keys-missing'] });
  await Promise.all([worker.end(), service.end()]);

  await rename(join(aside, keyFile), join(data, keyFile));
  const again = await serve([], { environment });
  assert.deepEqual(await (await fetch(`${again.address}/readyz`)).json(), { status: 'ready' });
  await again.end();
});
