// How many pages eight workers commit in a second while each commit takes 10 ms to be on the disk: to one push service and to eight,
// with all accepted and with 1 % gone. Nothing is sent: the results are made up, the store and its commits are real.
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import type { RowResult } from '../../src/store/ledger.ts';
import type { Store } from '../../src/store/store.ts';
import { madeUpSubscription, vapidPublicKey } from '../../test/store/made-up-subscription.ts';
import { madeUpBroadcast } from '../../test/store/store-under-test.ts';
import { printTable } from '../measure/table.ts';

const workers = 8;
const pageRows = 256;
const leaseMs = 60_000;
const goals = { accepted: 0.8, gone: 0.6 };

/** @param url of an empty database, whose server waits before it commits */
export async function benchCommits(url: string, pages: number): Promise<void> {
  const stores = await Promise.all(
    Array.from({ length: workers }, () => openPostgresStore({ url, maxConnections: 1 })),
  );
  try {
    const rows = workers * pages * pageRows;
    for (let first = 0; first < rows; first += 5000) {
      const indexes = Array.from({ length: Math.min(5000, rows - first) }, (_, index) => first + index);
      await stores[0]!.subscriptions.putAll(
        indexes.map((index) => ({ subscription: madeUpSubscription(index), vapidPublicKey })),
      );
    }
    // plans and pages of tables are warm afterwards
    await measure(stores, () => 'https://push.example', 0);
    const lines: string[][] = [];
    for (const [name, gonePerPage, goal] of [
      ['all accepted', 0, goals.accepted],
      ['1 % gone', pageRows / 100, goals.gone],
    ] as const) {
      const eight = await measure(stores, (worker) => `https://push-${worker}.example`, gonePerPage);
      const one = await measure(stores, () => 'https://push.example', gonePerPage);
      const [ofEight, ofOne] = [eight.toFixed(0), one.toFixed(0)];
      lines.push([name, ofEight, ofOne, (one / eight).toFixed(2), `≥ ${goal}`]);
    }
    printTable(`Pages of ${pageRows} rows per second, ${workers} workers, 10 ms for each commit`, [
      ['answers', 'eight push services', 'one', 'one of eight', 'goal'],
      ...lines,
    ]);
  } finally {
    for (const store of stores) await store.close();
  }
}

/** @returns pages per second of all workers together */
async function measure(
  stores: readonly Store[],
  originOf: (worker: number) => string,
  gonePerPage: number,
): Promise<number> {
  const rows = await stores[0]!.subscriptions.count();
  const { broadcast } = await stores[0]!.broadcasts.create(
    madeUpBroadcast(Date.now(), { sliceRows: Math.ceil(rows / workers) }),
  );
  const startedMs = performance.now();
  const pages = await Promise.all(
    stores.map((store, worker) => work(store, broadcast.id, originOf(worker), gonePerPage)),
  );
  return (1000 * pages.reduce((sum, count) => sum + count, 0)) / (performance.now() - startedMs);
}

/** Commits slices until none is left. @returns how many pages they had */
async function work(store: Store, broadcastId: number, origin: string, gonePerPage: number): Promise<number> {
  let pages = 0;
  for (;;) {
    const slice = await store.leases.leaseSlice({ leaseMs, broadcastId });
    if (slice === undefined) return pages;
    for (let fromCursor = slice.cursor; fromCursor < slice.throughPosition; pages += 1) {
      const rows = await store.ledger.readRows(slice, fromCursor, pageRows);
      const cursor = rows.length < pageRows ? slice.throughPosition : rows.at(-1)!.position;
      const [goneBefore, goneAfter] = [pages, pages + 1].map((page) => Math.floor(page * gonePerPage));
      const gone = goneAfter! - goneBefore!;
      const page = { number: slice.slice, fromCursor, cursor };
      await store.ledger.commit({
        broadcastId,
        fenceToken: slice.fenceToken,
        leaseMs,
        slice: page,
        rows: rows.map((recipient, index): RowResult => {
          const result = index % 100 === 0 && index / 100 < gone ? 'gone' : 'accepted';
          return { recipient, origin, attempts: 1, result, record: { atMs: Date.now(), attempt: 1 } };
        }),
      });
      fromCursor = cursor;
    }
  }
}
