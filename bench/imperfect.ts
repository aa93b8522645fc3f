// What imperfect push services cost a broadcast: a few refusals, late answers, lost connections, and one push service that
// hangs beside three that work. Each fault is compared with a broadcast without faults in the same round, and so is a second one
// without faults (A/A), which says what of a ratio is noise. It takes about nine minutes, with `--quick` one.
import { ImperfectBench, type MeasuredRun } from './imperfect/measure-imperfect.ts';
import type { Behaviour } from './imperfect/push-service-process.ts';
import { formatSpread, spreadOf } from './measure/statistics.ts';
import { printTable } from './measure/table.ts';
import { withBenchServer } from './postgres/database-server.ts';

const rows = 12_000;

type Fault = readonly [name: string, behaviour: Omit<Behaviour, 'delayMs'>, goal: number];

const faults: readonly Fault[] = [
  ['none (A/A)', {}, 1.1],
  ['0.1 % of 503', { refusedShare: 0.001 }, 1.1],
  ['1 % of 503', { refusedShare: 0.01 }, 1.1],
  ['5 % of 503', { refusedShare: 0.05 }, 1.3],
  ['1 % of answers five seconds late', { lateShare: 0.01 }, 1.1],
  ['GOAWAY on one connection in twenty', { endedShare: 1 / 20, ending: 'goaway' }, 1.1],
  ['a reset of one connection in twenty', { endedShare: 1 / 20, ending: 'reset' }, 1.1],
];
const fewFaults = faults.filter(([name]) => /A\/A|^[15] % of 503/.test(name));

interface Group {
  readonly roundTripMs: number;
  readonly threads: number;
  readonly rounds: number;
  readonly faults: readonly Fault[];
}

const groups: readonly Group[] = [
  { roundTripMs: 300, threads: 1, rounds: 3, faults },
  { roundTripMs: 300, threads: 2, rounds: 3, faults: fewFaults },
  { roundTripMs: 100, threads: 1, rounds: 3, faults: fewFaults },
  { roundTripMs: 500, threads: 1, rounds: 3, faults: fewFaults },
];
const postgresGroups: readonly Group[] = [{ roundTripMs: 300, threads: 1, rounds: 3, faults: fewFaults }];
const quickGroups: readonly Group[] = [{ roundTripMs: 300, threads: 1, rounds: 1, faults: fewFaults }];

export async function bench({ quick }: { readonly quick: boolean }): Promise<void> {
  const table = [
    [
      'database, way, threads, fault',
      'until all had a first attempt',
      'ratio',
      'goal',
      'refused rows late by',
      'end after the last',
    ],
  ];
  await using(await ImperfectBench.open(1, rows), async (sqlite) => {
    for (const group of quick ? quickGroups : groups) table.push(...(await measure(sqlite, 'SQLite', group)));
  });
  if (!quick) {
    await withBenchServer((server) =>
      server.withDatabase(async ({ url }) => {
        await using(await ImperfectBench.open(1, rows, url), async (postgres) => {
          for (const group of postgresGroups) table.push(...(await measure(postgres, 'PostgreSQL', group)));
        });
      }),
    );
  }
  table.push(await measureHanging(quick ? 1 : 3));
  printTable(`${rows.toLocaleString('en')} messages to imperfect push services`, table);
}

async function using(opened: ImperfectBench, work: (bench: ImperfectBench) => Promise<void>): Promise<void> {
  try {
    await work(opened);
  } finally {
    await opened.close();
  }
}

async function measure(opened: ImperfectBench, database: string, group: Group): Promise<string[][]> {
  const { roundTripMs: delayMs, threads } = group;
  const clean: MeasuredRun[] = [];
  const byFault = group.faults.map((): MeasuredRun[] => []);
  for (let round = 0; round < group.rounds; round += 1) {
    clean.push(await opened.run([{ delayMs }], threads));
    for (const [index, [, behaviour]] of group.faults.entries())
      byFault[index]!.push(await opened.run([{ delayMs, ...behaviour }], threads));
  }
  return group.faults.map(([name, , goal], index) =>
    toRow(`${database}, ${delayMs} ms, ${threads}, ${name}`, byFault[index]!, clean, `≤ ${goal}`),
  );
}

/** Three push services that work, alone and beside one that hangs, which none of the stores knows yet. */
async function measureHanging(rounds: number): Promise<string[]> {
  const works: Behaviour = { delayMs: 300 };
  const three = [works, works, works];
  const alone: MeasuredRun[] = [];
  const beside: MeasuredRun[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await using(await ImperfectBench.open(3, (rows * 3) / 4), async (opened) => {
      alone.push(await opened.run(three, 1));
    });
    await using(await ImperfectBench.open(4, rows), async (opened) => {
      beside.push(await opened.run([...three, { ...works, hangs: true }], 1));
    });
  }
  return toRow('SQLite, 300 ms, 1, one of four hangs', beside, alone, 'as many round trips');
}

function toRow(
  name: string,
  runs: readonly MeasuredRun[],
  clean: readonly MeasuredRun[],
  goal: string,
): string[] {
  const ratios = runs.map((run, round) => run.firstAttemptsMs / clean[round]!.firstAttemptsMs);
  const milliseconds = (of: (run: MeasuredRun) => number | undefined): string => {
    const { median } = spreadOf(runs.map((run) => of(run) ?? Number.NaN));
    return Number.isNaN(median) ? '–' : `${Math.round(median)} ms`;
  };
  return [
    name,
    milliseconds(({ firstAttemptsMs }) => firstAttemptsMs),
    formatSpread(spreadOf(ratios), 2),
    goal,
    milliseconds(({ latenessMs }) => latenessMs),
    milliseconds(({ endMs }) => endMs),
  ];
}
