// What it costs a broadcast that each row has a payload of its own, with a receipt token: the same broadcast without and
// with, in turn. nginx is the push service; it shares the processors.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { measureBroadcast } from './broadcast/measure-broadcast.ts';
import { formatSpread, spreadOf } from './measure/statistics.ts';
import { printTable } from './measure/table.ts';

export async function bench({ quick }: { readonly quick: boolean }): Promise<void> {
  const builder = spawn(process.execPath, [fileURLToPath(new URL('../scripts/build.ts', import.meta.url))], {
    stdio: 'inherit',
  });
  await once(builder, 'exit');
  const rows = quick ? 20_000 : 100_000;
  const rounds = quick ? 1 : 5;
  const cpu = { without: [] as number[], with: [] as number[] };
  const seconds = { without: [] as number[], with: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    for (const kind of ['without', 'with'] as const) {
      const measured = await measureBroadcast(rows, { receipts: kind === 'with' });
      cpu[kind].push(measured.cpuMicroseconds / rows);
      seconds[kind].push(measured.seconds);
    }
  }
  printTable(`One broadcast to ${rows.toLocaleString('en')} rows`, [
    ['receipts', 'CPU µs/message', 'seconds'],
    ...(['without', 'with'] as const).map((kind) => [
      kind,
      formatSpread(spreadOf(cpu[kind]), 1),
      formatSpread(spreadOf(seconds[kind]), 1),
    ]),
  ]);
}
