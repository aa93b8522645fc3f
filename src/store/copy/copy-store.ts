// Copies a whole database to another, table by table, then reads both again and compares them. An interrupted copy can
// be continued: the source is read from the beginning, and rows that the target already has are not written again.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { copiedTables, type CopiedTable } from './copied-tables.ts';
import {
  addRow,
  type CopySource,
  type CopyTarget,
  isSame,
  noRows,
  type Progress,
  type TableChecksum,
  type TableReader,
} from './copy-database.ts';

export interface CopyState {
  readonly step: 'copying' | 'comparing';
  readonly table: string;
  /** `rows` of `total` have been read. */
  readonly rows: number;
  readonly total: number;
}

export interface CopyOptions {
  readonly from: CopySource;
  readonly to: CopyTarget;
  /** Called after each page. */
  readonly onProgress?: ((state: CopyState) => void) | undefined;
  /** Stops the copy between two pages. It can be continued. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * @returns what was copied, by table name
 * @throws {DeskbellError} ERR_STORE_NOT_EMPTY, ERR_STORE_IN_USE, ERR_COPY_DIFFERS, ERR_COPY_UNFINISHED,
 *   ERR_STORE_UNAVAILABLE, ERR_STORE_CORRUPT; the reason of `signal` if it is aborted
 */
export function copyStore({ from, to, onProgress = () => {}, signal }: CopyOptions): Promise<Progress> {
  const report = (state: CopyState): void => {
    onProgress(state);
    signal?.throwIfAborted();
  };
  return from.read(async (reader) => {
    let progress = await to.begin(from.label);
    // tables before this one are complete
    const lastBegun = copiedTables.findLastIndex(({ name }) => name in progress);
    for (const [index, table] of copiedTables.entries()) {
      const isComplete = index < lastBegun;
      progress = await copyTable(table, { from, reader, to, progress, report, isComplete });
    }
    await to.finish();
    await to.read(async (written) => {
      for (const table of copiedTables) await compareTable(table, { reader: written, to, progress, report });
    });
    await to.complete();
    return progress;
  });
}

interface TableCopy extends Pick<CopyOptions, 'from' | 'to'> {
  readonly reader: TableReader;
  readonly progress: Progress;
  /** True if the whole table was written before. */
  readonly isComplete: boolean;
  readonly report: (state: CopyState) => void;
}

/** @returns the progress, which now includes the whole table */
async function copyTable(
  table: CopiedTable,
  { from, reader, to, progress, report, isComplete }: TableCopy,
): Promise<Progress> {
  const { name } = table;
  const written = progress[name] ?? noRows;
  const withTable = (checksum: TableChecksum): Progress => ({ ...progress, [name]: checksum });
  const assertUnchanged = (tally: TableChecksum): void => {
    if (isSame(tally, written)) return;
    throw new DeskbellError(
      'ERR_COPY_DIFFERS',
      `The table ${name} of ${from.label} is not as it was when the copy to ${to.label} began`,
    );
  };
  const total = await reader.count(table);
  let tally = noRows;
  for await (const page of reader.pages(table)) {
    const fresh = [];
    for (const row of page) {
      if (tally.rows >= written.rows) fresh.push(row);
      tally = addRow(tally, row);
      if (tally.rows === written.rows) assertUnchanged(tally);
    }
    if (fresh.length > 0 && !isComplete) await to.write(table, fresh, withTable(tally));
    report({ step: 'copying', table: name, rows: tally.rows, total });
  }
  if (tally.rows < written.rows || isComplete) assertUnchanged(tally);
  if (!(name in progress) && tally.rows === 0) await to.write(table, [], withTable(tally));
  return withTable(tally);
}

/** @throws {DeskbellError} ERR_COPY_DIFFERS */
async function compareTable(
  table: CopiedTable,
  { reader, to, progress, report }: Omit<TableCopy, 'from' | 'isComplete'>,
): Promise<void> {
  const { name } = table;
  const expected = progress[name] ?? noRows;
  let tally = noRows;
  for await (const page of reader.pages(table)) {
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
