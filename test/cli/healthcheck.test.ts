// `deskbell healthcheck`: asks the process by the configuration that it was started with.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { runCommand, spawnUntilStopped, temporaryFolder } from './run-command.ts';
import { until } from '../../tools/until.ts';
import { freePort } from '../../tools/listening.ts';

const skip = process.platform === 'linux' ? false : 'It reads /proc.';

test('asks a service at its port and prefix, and a worker’s reports', { skip }, async () => {
  const data = await temporaryFolder();
  const port = String(await freePort());
  const environment = { DESKBELL_PREFIX: '/push', DESKBELL_DATA: data };
  const check = async (pid: number | undefined) => {
    const {
      exitCode: code,
      stdout,
      stderr,
    } = await runCommand(['healthcheck', '--pid', String(pid)], { environment });
    return { code, text: stdout + stderr };
  };
  const service = spawnUntilStopped(['serve', '--push-only', '--port', port], { environment });
  await service.waitFor(/listens on/);
  assert.deepEqual(await check(service.child.pid), { code: 0, text: 'The service works.\n' });

  const worker = spawnUntilStopped(['worker', `--data=${data}`, '--subject', 'mailto:push@example.org'], {
    environment,
  });
  await worker.waitFor(/delivers broadcasts/);
  await until(async () => (await check(worker.child.pid)).code === 0, 'the worker to have reported');

  const ends = await Promise.all([service.end(), worker.end()]);
  assert.deepEqual(ends, [0, 0]);
  // one that has not come to listen
  const words = ['-e', 'setTimeout(() => {}, 60_000)', 'serve', '--port', port];
  const starting = spawn(process.execPath, words, { stdio: 'ignore' });
  assert.match((await check(starting.pid)).text, /readyz does not answer.*ERR_NOT_READY/);
  starting.kill();
  assert.match((await check(process.pid)).text, /is neither "deskbell serve" nor "deskbell worker"/);
});
