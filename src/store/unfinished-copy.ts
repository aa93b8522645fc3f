// The mark of a database that is the target of a copy and not complete: a table, which is looked for whenever a database is
// opened.
import { DeskbellError } from '../errors/deskbell-error.ts';

/** Holds one row: the place of the source, the schema that the copy is made for, and its progress as JSON. */
export const unfinishedCopy = 'unfinished_copy';

/** The refusal of everybody but the copy itself. */
export const unfinishedCopyError = (label: string): DeskbellError =>
  new DeskbellError('ERR_COPY_UNFINISHED', `The database ${label} is a copy that is not complete`);

/** @throws {DeskbellError} ERR_COPY_UNFINISHED */
export function assertSameSchema(label: string, source: string, begunFor: number, now: number): void {
  if (begunFor === now) return;
  throw new DeskbellError(
    'ERR_COPY_UNFINISHED',
    `The copy of ${source} to ${label} was begun by a Deskbell with schema ${begunFor}; this one has schema ${now}. ` +
      'Begin again with an empty target',
  );
}

export const notEmptyError = (label: string, table: string): DeskbellError =>
  new DeskbellError('ERR_STORE_NOT_EMPTY', `The database ${label} has rows already, in its table ${table}`);
