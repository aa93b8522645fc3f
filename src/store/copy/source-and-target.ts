// What the copy needs of a database that it reads, and of one that it writes.
import type { CopiedTable, CopyRow } from './copied-table.ts';
import type { TableChecksum } from './checksum.ts';

/** Reads tables as they are at one moment. */
export interface TableReader {
  count(table: CopiedTable): Promise<number>;
  /** All rows in the table's order, some of them at a time. */
  pages(table: CopiedTable): AsyncIterable<readonly CopyRow[]>;
}

interface CopySide {
  /** For messages: without user and password. */
  readonly label: string;
  /** Nobody writes while `work` reads. */
  read<Result>(work: (reader: TableReader) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

export type CopySource = CopySide;

/** What is written already, by the names of tables. */
export type Progress = Readonly<Record<string, TableChecksum>>;

export interface CopyTarget extends CopySide {
  /**
   * Marks the empty database as an unfinished copy, which nothing else opens; or finds what was copied before.
   *
   * @param source its place, for messages
   * @throws {DeskbellError} ERR_STORE_NOT_EMPTY, ERR_COPY_UNFINISHED for a copy that another version of Deskbell began
   */
  begin(source: string): Promise<Progress>;
  /** Writes rows together with the progress that includes them; with the first ones also what `before` says. */
  write(table: CopiedTable, rows: readonly CopyRow[], progress: Progress): Promise<void>;
  /** Does what `after` says for all tables. */
  derive(): Promise<void>;
  /** Makes the copy a database like any other. */
  complete(): Promise<void>;
}

/** Rows of a page. */
export const pageRows = 1000;
