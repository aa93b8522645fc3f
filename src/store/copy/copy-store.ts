// Copies a whole database to another, table by table, then reads both again and compares them. An interrupted copy can
// be continued: the source is read from the beginning, and rows that the target already has are not written again.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { copiedTables, type CopiedTable, type CopyRow } from './copied-tables.ts';
import {
  addRow,
  beginCopy,
  completeCopy,
  type CopyDatabase,
  type CopyTransaction,
  countRows,
  isSame,
  noRows,
  type Progress,
  readPages,
  type TableChecksum,
  writeRows,
} from './copy-database.ts';

export interface CopyState {
  readonly step: 'copying' | 'comparing';
  readonly table: string;
  /** `rows` of `total` have been read. */
  readonly rows: number;
  readonly total: number;
}

export interface CopyOptions {
  readonly from: CopyDatabase;
  readonly to: CopyDatabase;
  /** Called after each page. */
  readonly onProgress?: ((state: CopyState) => void) | undefined;
  /** Stops the copy between two pages. It can be continued. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * @returns what was copied, by table name
 * @throws {DeskbellError} ERR_STORE_NOT_EMPTY, ERR_STORE_IN_USE, ERR_COPY_DIFFERS, ERR_COPY_UNFINISHED,
 *   ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT
 * @throws `signal.reason` if `signal` is aborted
 */
export function copyStore({ from, to, onProgress = () => {}, signal }: CopyOptions): Promise<Progress> {
  const report = (state: CopyState): void => {
    onProgress(state);
    signal?.throwIfAborted();
  };
  return from.read(async (reading) => {
    let progress = await beginCopy(to, from.label);
    // tables before this one are complete
    const lastBegun = copiedTables.findLastIndex(({ name }) => name in progress);
    for (const [index, table] of copiedTables.entries()) {
      const isComplete = index < lastBegun;
      progress = await copyTable(table, { from, reading, to, progress, report, isComplete });
    }
    await to.transaction((transaction) => to.finish(transaction));
    await to.read(async (written) => {
      for (const table of copiedTables) await compareTable(table, { reading: written, to, progress, report });
    });
    await completeCopy(to);
    return progress;
  });
}

interface TableCopy extends Pick<CopyOptions, 'from' | 'to'> {
  /** The transaction that reads the table. */
  readonly reading: CopyTransaction;
  readonly progress: Progress;
  /** True if an earlier run wrote the whole table. */
  readonly isComplete: boolean;
  readonly report: (state: CopyState) => void;
}

/** @returns the progress, which now includes the whole table */
async function copyTable(
  table: CopiedTable,
  { from, reading, to, progress, report, isComplete }: TableCopy,
): Promise<Progress> {
  const { name } = table;
  const written = progress[name] ?? noRows;
  const assertUnchanged = (tally: TableChecksum): void => {
    if (isSame(tally, written)) return;
    throw new DeskbellError(
      'ERR_COPY_DIFFERS',
      `The table ${name} of ${from.label} is not as it was when the copy to ${to.label} began`,
    );
  };
  const total = await countRows(from, reading, table);
  let known = progress;
  let tally = noRows;
  const write = async (rows: readonly CopyRow[]): Promise<void> => {
    const next = { ...known, [name]: tally };
    await writeRows(to, table, rows, { known, progress: next });
    known = next;
  };
  for await (const page of readPages(from, reading, table)) {
    const fresh = [];
    for (const row of page) {
      if (tally.rows >= written.rows) fresh.push(row);
      tally = addRow(tally, row);
      if (tally.rows === written.rows) assertUnchanged(tally);
    }
    if (fresh.length > 0 && !isComplete) await write(fresh);
    report({ step: 'copying', table: name, rows: tally.rows, total });
  }
  if (tally.rows < written.rows || isComplete) assertUnchanged(tally);
  if (!(name in progress) && tally.rows === 0) await write([]);
  return known;
}

/** @throws {DeskbellError} ERR_COPY_DIFFERS */
async function compareTable(
  table: CopiedTable,
  { reading, to, progress, report }: Omit<TableCopy, 'from' | 'isComplete'>,
): Promise<void> {
  const { name } = table;
  const expected = progress[name] ?? noRows;
  let tally = noRows;
  for await (const page of readPages(to, reading, table)) {
    for (const row of page) tally = addRow(tally, row);
    report({ step: 'comparing', table: name, rows: tally.rows, total: expected.rows });
  }
  if (isSame(tally, expected)) return;
  throw new DeskbellError(
    'ERR_COPY_DIFFERS',
    `The table ${name} of the copy ${to.label} has ${tally.rows} rows with the checksum ${tally.checksum || 'none'}, ` +
      `its source ${expected.rows} with ${expected.checksum || 'none'}`,
  );
}
