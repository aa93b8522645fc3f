// How databases say that there is no room left on their disk: the same write succeeds once there is.
import { DeskbellError } from '../errors/deskbell-error.ts';

// https://sqlite.org/rescode.html: the primary code is the low byte
const primaryCodeMask = 0xff;
const SQLITE_FULL = 13;
/** SQLSTATE of PostgreSQL. */
const diskFull = '53100';

/** True for what a store throws then. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof DeskbellError) || !(error.cause instanceof Error)) return false;
  const { errcode, code } = error.cause as { readonly errcode?: unknown; readonly code?: unknown };
  return code === diskFull || (typeof errcode === 'number' && (errcode & primaryCodeMask) === SQLITE_FULL);
}
