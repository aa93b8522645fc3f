// What an option costs a broadcast of `serve --deliver`: the same one plain, once more plain, with receipts (each row has a payload of its own,
// with a token), in three languages with a name, and with the operator's side in use (metrics scraped each second, a page of the console open), in turn, for
// two minutes. nginx is the push service; it shares the processors.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { openDataDirectory } from '../src/cli/data/data-directory.ts';
import { startNginxSink } from './broadcast/nginx-sink.ts';
import { seedSubscriptions } from './broadcast/seed.ts';
import {
  serveBroadcast,
  servingOptions,
  type ServedBroadcast,
  type ServingOption,
} from './broadcast/serving.ts';
import { formatSpread, spreadOf } from './measure/statistics.ts';
import { printTable } from './measure/table.ts';

type Round = Readonly<Record<ServingOption, ServedBroadcast>>;

/** All are persons with a name, of three languages. */
function nameReaders(directory: string): void {
  using database = new DatabaseSync(join(directory, 'deskbell.db'));
  database.exec(`
    update subscriptions set user_name = 'user ' || id;
    insert into people (user_name, data, language, updated_at_ms)
      select user_name, json_object('name', 'Ada ' || id), case id % 3 when 0 then 'de' when 1 then 'fr' end, 0 from subscriptions`);
}

export async function bench({ quick }: { readonly quick: boolean }): Promise<void> {
  const builder = spawn(process.execPath, [fileURLToPath(new URL('../scripts/build.ts', import.meta.url))], {
    stdio: 'inherit',
  });
  await once(builder, 'exit');
  const rows = quick ? 20_000 : 60_000;
  const directory = await mkdtemp(join(tmpdir(), 'deskbell-options-'));
  const sink = await startNginxSink();
  const rounds: Round[] = [];
  try {
    await seedSubscriptions(directory, sink.origin, rows);
    nameReaders(directory);
    const data = await openDataDirectory(directory);
    const endsAtMs = performance.now() + (quick ? 0 : 120_000);
    while (rounds.length === 0 || performance.now() < endsAtMs) {
      const round = {} as Record<ServingOption, ServedBroadcast>;
      // what comes first differs, should that make a difference
      const shift = rounds.length % servingOptions.length;
      for (const option of [...servingOptions.slice(shift), ...servingOptions.slice(0, shift)])
        round[option] = await serveBroadcast(directory, data, sink, option);
      rounds.push(round);
    }
    await data.close();
  } finally {
    await sink.remove();
    await rm(directory, { recursive: true });
  }

  const percent = (option: ServingOption, figureOf: (served: ServedBroadcast) => number): string =>
    option === 'plain'
      ? '–'
      : `${formatSpread(spreadOf(rounds.map((round) => (figureOf(round[option]) / figureOf(round.plain) - 1) * 100)), 1)} %`;
  const spread = (
    option: ServingOption,
    figureOf: (served: ServedBroadcast) => number,
    digits: number,
  ): string => formatSpread(spreadOf(rounds.map((round) => figureOf(round[option]))), digits);
  const cpu = ({ cpuSeconds }: ServedBroadcast): number => (cpuSeconds * 1e6) / rows;
  const rate = ({ seconds }: ServedBroadcast): number => rows / seconds;
  printTable(`Broadcasts to ${rows.toLocaleString('en')} rows, ${rounds.length} rounds`, [
    ['', 'CPU µs/message', 'against plain', 'messages/s', 'against plain'],
    ...servingOptions.map((option) => [
      option,
      spread(option, cpu, 1),
      percent(option, cpu),
      spread(option, rate, 0),
      percent(option, rate),
    ]),
  ]);
}
