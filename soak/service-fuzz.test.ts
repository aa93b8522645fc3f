// A hundred thousand requests generated from the description document, sent to `deskbell serve` in a process of its
// own: no 5xx, nothing that the document does not describe, memory that does not grow. FUZZ_SEED repeats a run.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { residentMegabytesOf } from '../bench/measure/process-usage.ts';
import { createSessionCookie } from '../src/service/demonstration/session.ts';
import { openDataDirectory } from '../src/cli/data/data-directory.ts';
import { fuzz } from '../test/service/description-fuzz.ts';
import { scaled } from './scale.ts';

const runs = scaled(100_000);
const seed = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));
/** What a garbage collector may leave uncollected. */
const allowedGrowthMegabytes = 40;

test(`the service answers ${runs} generated requests as described, in steady memory`, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-fuzz-'));
  const data = await openDataDirectory(folder);
  const session = await createSessionCookie({ sessionKey: data.sessionKey, value: 'fuzz' });
  await data.close();

  const main = join(import.meta.dirname, '../src/cli/main.cts');
  const flags = [
    '--port',
    '0',
    '--data',
    folder,
    '--registrations-per-minute',
    'off',
    '--authenticate',
    'get',
  ];
  const child = spawn(
    process.execPath,
    [main, 'serve', ...flags, '--log-file', join(folder, 'records.log')],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exited = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGTERM');
    await exited;
    await rm(folder, { recursive: true });
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const base = /http:\/\/\S+/.exec(line)![0];
  t.diagnostic(`seed ${seed}`);

  const megabytes: number[] = [];
  const answers = await fuzz(
    { base, ...session },
    {
      runs,
      seed,
      async onProgress() {
        megabytes.push((await residentMegabytesOf(child.pid!)) ?? Number.NaN);
      },
    },
  );
  t.diagnostic(Array.from(answers, ([name, count]) => `${name}: ${count}`).join(', '));
  assert.equal(child.exitCode, null, 'the service still runs');
  // The first fifth is warming up.
  const warm = megabytes.slice(Math.floor(megabytes.length / 5));
  const growth = Math.max(...warm.slice(-5)) - Math.max(...warm.slice(0, 5));
  t.diagnostic(`memory grew by ${growth.toFixed(1)} MB from the first fifth to the end`);
  assert.ok(growth <= allowedGrowthMegabytes, `memory grew by ${growth.toFixed(1)} MB`);
});
