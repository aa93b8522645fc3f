// The long fuzz run: `node scripts/fuzz-service.ts [requests] [seed]` sends 100,000 generated requests to
// `deskbell serve` in a process of its own. It fails on a 5xx, on an answer that the description document does not
// describe, on memory that grows, and on a service that does not live to the end.
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { residentMegabytesOf } from '../bench/measure/process-usage.ts';
import { createSessionCookie } from '../src/service/demonstration/session-cookie.ts';
import { openDataDirectory } from '../src/store/data-directory.ts';
import { fuzz } from '../test/service/description-fuzz.ts';

const runs = Number(process.argv[2] ?? 100_000);
const seed = Number(process.argv[3] ?? randomInt(2 ** 31));
/** Above what a garbage collector may leave lying about. */
const allowedGrowthMegabytes = 40;

const folder = await mkdtemp(join(tmpdir(), 'deskbell-fuzz-'));
const data = await openDataDirectory(folder);
const session = await createSessionCookie({ sessionKey: data.sessionKey, value: 'fuzz' });
await data.close();

const main = join(import.meta.dirname, '../src/cli/main.ts');
const flags = ['--port', '0', '--data', folder, '--registrations-per-minute', 'off', '--authenticate', 'get'];
const child = spawn(process.execPath, [main, 'serve', ...flags, '--log-file', join(folder, 'records.log')], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, 'line')) as [string];
  const base = /http:\/\/\S+/.exec(line)![0];
  console.log(`${runs} requests to ${base}, seed ${seed}`);

  const megabytes: number[] = [];
  const statuses = await fuzz(
    { base, ...session },
    {
      runs,
      seed,
      async onProgress(requests) {
        megabytes.push((await residentMegabytesOf(child.pid!)) ?? Number.NaN);
        if (requests % 10_000 === 0) console.log(`${requests} requests, ${megabytes.at(-1)} MB`);
      },
    },
  );
  const counts = [...statuses].sort(([one], [other]) => one - other);
  console.log(counts.map(([status, count]) => `${status}: ${count}`).join(', '));
  if (child.exitCode !== null) throw new Error('The service has ended.');
  // The first fifth is warming up.
  const warm = megabytes.slice(Math.floor(megabytes.length / 5));
  const growth = Math.max(...warm.slice(-5)) - Math.max(...warm.slice(0, 5));
  console.log(`Memory grew by ${growth.toFixed(1)} MB from the first fifth to the end.`);
  if (growth > allowedGrowthMegabytes) throw new Error('The memory of the service grows.');
} finally {
  child.kill('SIGTERM');
  if (child.exitCode === null) await once(child, 'exit');
  await rm(folder, { recursive: true });
}
