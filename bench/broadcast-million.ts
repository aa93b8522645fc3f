// One message to a million subscribers from the SQLite store, end to end with commits: does it finish, what does a
// message cost next to a run over a hundred thousand, does memory stay flat, when does the first message go out. nginx
// is the push service; it shares the processors.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { measureBroadcast, type MeasuredBroadcast } from './broadcast/measure-broadcast.ts';
import { printTable } from './measure/table.ts';

const audiences = [100_000, 1_000_000];
const quickAudiences = [20_000, 100_000];

export async function bench({ quick }: { readonly quick: boolean }): Promise<void> {
  // measured as it is published: running from source, each thread carries a TypeScript parser
  const builder = spawn(process.execPath, [fileURLToPath(new URL('../scripts/build.ts', import.meta.url))], {
    stdio: 'inherit',
  });
  await once(builder, 'exit');
  const runs: MeasuredBroadcast[] = [];
  for (const rows of quick ? quickAudiences : audiences) runs.push(await measureBroadcast(rows));
  printTable('One broadcast from the store, end to end', [
    [
      'audience',
      'seconds',
      'messages/s',
      'CPU µs/message',
      'first message after',
      'memory at its most',
      'at the end',
    ],
    ...runs.map(({ rows, seconds, cpuMicroseconds, firstMs, residentMegabytes }) => [
      rows.toLocaleString('en'),
      seconds.toFixed(1),
      Math.round(rows / seconds).toLocaleString('en'),
      (cpuMicroseconds / rows).toFixed(1),
      `${Math.round(firstMs)} ms`,
      `${Math.max(...residentMegabytes).toFixed(0)} MB`,
      `${residentMegabytes.at(-1)?.toFixed(0) ?? '–'} MB`,
    ]),
  ]);
}
