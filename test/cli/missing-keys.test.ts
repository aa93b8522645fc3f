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

  // each list of alarms has it: of the command, of the API, and of the metrics of each process
  const [alarm] = parseLines((await run(['alarms', 'list', '--json'])).stdout);
  assert.equal(alarm.kind, 'keys-missing');
  assert.match(alarm.remedy, says);
  const { token } = JSON.parse((await run(['operators', 'add', 'shop', '--json'])).stdout);
  const ask = (address: string, path: string) =>
    fetch(`${address}${path}`, { headers: { authorization: `Bearer ${token}` } });
  const hasMetric = async (address: string) =>
    assert.match(
      await (await ask(address, '/metrics')).text(),
      /^deskbell_alarms\{kind="keys-missing",acknowledged="false"\} 1$/m,
    );

  const worker = runUntilStopped(['worker', '--json', '--metrics', '127.0.0.1:0'], { environment });
  const [, metrics = ''] = await worker.waitFor(/"event":"ready",.*"metrics":"([^"]+)"/);
  assert.match(worker.written(), says);
  await hasMetric(metrics);
  const service = await serve(['--operator', '127.0.0.1:0'], { environment });
  await service.waitFor(says);
  const [, operator = ''] = await service.waitFor(/^The operator’s listener is at (http:\S+)$/);
  await hasMetric(operator);
  const answer = (await (await ask(operator, '/v1/alarms')).json()) as { readonly items: unknown };
  assert.deepEqual(answer.items, [alarm]);
  const ready = await fetch(`${service.address}/readyz`);
  assert.deepEqual(
    [ready.status, await ready.json()],
    [200, { status: 'ready', warnings: ['keys-missing'] }],
  );
  await Promise.all([worker.end(), service.end()]);

  await rename(join(aside, keyFile), join(data, keyFile));
  const again = await serve([], { environment });
  assert.deepEqual(await (await fetch(`${again.address}/readyz`)).json(), { status: 'ready' });
  await again.end();
});
