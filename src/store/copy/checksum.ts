// How many rows of a table were read, and what they were: a chain of hashes, so that it can be continued from any row on.
import { hash } from 'node:crypto';
import type { CopyRow } from './copied-tables.ts';

export interface TableChecksum {
  readonly rows: number;
  /** SHA-256 in hexadecimal digits over the tally before and the row; empty before the first row. */
  readonly checksum: string;
}

export const noRows: TableChecksum = { rows: 0, checksum: '' };

export const addRow = ({ rows, checksum }: TableChecksum, row: CopyRow): TableChecksum => ({
  rows: rows + 1,
  checksum: hash('sha256', checksum + JSON.stringify(row)),
});

export const isSame = (one: TableChecksum, other: TableChecksum): boolean =>
  one.rows === other.rows && one.checksum === other.checksum;
