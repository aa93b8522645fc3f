// The console's pages with a million subscriptions and 5,000 broadcasts, 2,000 of them open, as a multiple of their times with a
// hundred of each. `--rows` sets how many subscriptions there are; `--quick` has a tenth of all of them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fillStore, type Size } from './console/fill-store.ts';
import { startConsole } from './console/console-pages.ts';
import { printTable } from './measure/table.ts';
import { withBenchServer } from './postgres/database-server.ts';
import { openPostgresStore } from '../src/store/postgres/open-store.ts';
import { openSqliteStore } from '../src/store/sqlite/open-store.ts';
import type { Store } from '../src/store/store.ts';

const goal = 3;
const nothing: Size = { subscriptions: 0, open: 0, past: 0 };
const few: Size = { subscriptions: 100, open: 100, past: 100 };

interface Opened {
  readonly store: Store;
  /** What a database does by itself some time after it has grown. */
  settle(): Promise<void>;
}

export async function bench({
  quick,
  rows = quick ? 100_000 : 1_000_000,
}: {
  readonly quick: boolean;
  readonly rows: number | undefined;
}): Promise<void> {
  const many: Size = { subscriptions: rows, open: quick ? 200 : 2000, past: quick ? 300 : 3000 };
  const folder = mkdtempSync(join(tmpdir(), 'deskbell-console-'));
  try {
    const store = await openSqliteStore({ path: join(folder, 'deskbell.db') });
    await compare('SQLite', { store, settle: async () => {} }, many);
  } finally {
    rmSync(folder, { recursive: true });
  }
  await withBenchServer((server) =>
    server.withDatabase(async ({ url, settle }) =>
      compare('PostgreSQL', { store: await openPostgresStore({ url }), settle }, many),
    ),
  );
}

/** Closes the store. */
async function compare(name: string, { store, settle }: Opened, many: Size): Promise<void> {
  try {
    await fillStore(store, nothing, few);
    await settle();
    const before = await measure(store);
    await fillStore(store, few, many);
    await settle();
    const after = await measure(store);
    const multiples = [...after].map(([path, ms]) => ({
      path,
      ms,
      former: before.get(path) ?? Number.NaN,
      multiple: ms / (before.get(path) ?? Number.NaN),
    }));
    const broadcasts = (many.open + many.past).toLocaleString('en');
    printTable(
      `Pages of the console on ${name}: ${many.subscriptions.toLocaleString('en')} subscriptions, ${broadcasts} broadcasts, ${many.open.toLocaleString('en')} of them open`,
      [
        ['page', 'with a hundred of each', 'with all', 'multiple'],
        ...multiples
          .toSorted((one, other) => other.multiple - one.multiple)
          .map(({ path, former, ms, multiple }) => [
            path,
            `${former.toFixed(1)} ms`,
            `${ms.toFixed(1)} ms`,
            multiple.toFixed(1),
          ]),
        ['goal', '', '', `≤ ${goal}`],
      ],
    );
  } finally {
    await store.close();
  }
}

async function measure(store: Store): Promise<ReadonlyMap<string, number>> {
  const site = await startConsole(store);
  try {
    return await site.measurePages();
  } finally {
    await site.close();
  }
}
