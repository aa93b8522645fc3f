// The mark of a database that is the target of a copy and not complete: a table, which is looked for whenever a database is
// opened.
import { DeskbellError } from '../errors/deskbell-error.ts';

/** Holds one row: the place of the source, the schema that the copy is made for, and its progress as JSON. */
export const unfinishedCopy = 'unfinished_copy';

/** The refusal of everybody but the copy itself. */
export const unfinishedCopyError = (label: string): DeskbellError =>
  new DeskbellError('ERR_COPY_UNFINISHED', `The database ${label} is a copy that is not complete`);
