// What an option costs a broadcast: the same one plain, with receipts (each row has a payload of its own, with a token), and
// with metrics that are read once a second, in turn. nginx is the push service; it shares the processors.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { broadcastOptions, measureBroadcast, type MeasuredBroadcast } from './broadcast/measure-broadcast.ts';
import { formatSpread, spreadOf } from './measure/statistics.ts';
import { printTable } from './measure/table.ts';

export async function bench({ quick }: { readonly quick: boolean }): Promise<void> {
  const builder = spawn(process.execPath, [fileURLToPath(new URL('../scripts/build.ts', import.meta.url))], {
    stdio: 'inherit',
  });
  await once(builder, 'exit');
  const rows = quick ? 20_000 : 100_000;
  const rounds = quick ? 1 : 5;
  const runs = broadcastOptions.map((option) => ({ option, measured: [] as MeasuredBroadcast[] }));
  for (let round = 0; round < rounds; round += 1) {
    for (const { option, measured } of runs) measured.push(await measureBroadcast(rows, { option }));
  }
  printTable(`One broadcast to ${rows.toLocaleString('en')} rows`, [
    ['', 'CPU µs/message', 'seconds'],
    ...runs.map(({ option, measured }) => [
      option,
      formatSpread(spreadOf(measured.map(({ cpuMicroseconds }) => cpuMicroseconds / rows)), 1),
      formatSpread(spreadOf(measured.map(({ seconds }) => seconds)), 1),
    ]),
  ]);
}
