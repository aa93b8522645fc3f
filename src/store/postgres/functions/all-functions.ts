// All functions of the database. They are in the .sql files of this folder, in the schema `deskbell_functions`. Values
// from TypeScript appear there as `:name`, and parameters that could be confused with columns begin with `p_`. Each
// version of the functions has its own schema, named by the hash of their text. So processes of another version keep
// using their own functions, and a changed function also reaches an existing database.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { clientPlaces } from '../../client-requests.ts';
import { deletionGuardPolicy } from '../../deletion-guard.ts';
import { exactSlices, sliceStep } from '../../leases.ts';
import { membersOf } from '../../slices.ts';
import { drawOrderEnd, suspensionPolicy } from '../../push-services.ts';
import { addColumns, broadcastWidths, listColumns, outcomeColumns, outcomeWidths } from '../../statistics.ts';
import { mayEnd } from '../../finish-broadcast.ts';
import { noAction } from '../../receipts.ts';
import { maxRowsOfKey } from '../../subscriptions.ts';
import { partitions, schemaVersion, workChannel } from '../migrations.ts';

export interface DatabaseFunctions {
  /** The schema's name: `deskbell_functions_<version of the tables>_<hash of their text>`. */
  readonly schema: string;
  /** Creates the schema and the functions. */
  readonly sql: string;
}

type SqlValue = number | string | readonly number[] | { readonly sql: string };

/** Each file uses only functions from earlier files. The build puts the files' text into the code. */
const files = [
  readFileSync(new URL('./subscriptions.sql', import.meta.url), 'utf8'),
  readFileSync(new URL('./push-services.sql', import.meta.url), 'utf8'),
  readFileSync(new URL('./outcomes.sql', import.meta.url), 'utf8'),
  readFileSync(new URL('./gone-marks.sql', import.meta.url), 'utf8'),
  readFileSync(new URL('./broadcasts.sql', import.meta.url), 'utf8'),
  readFileSync(new URL('./leases.sql', import.meta.url), 'utf8'),
  readFileSync(new URL('./read-page.sql', import.meta.url), 'utf8'),
  readFileSync(new URL('./commit-page.sql', import.meta.url), 'utf8'),
  readFileSync(new URL('./client-requests.sql', import.meta.url), 'utf8'),
];

/** The columns of a page of subscriptions `s`. A subscription's id is also its position. */
const pageColumns = [
  "string_agg(s.id::text, ',' order by s.id)",
  'null',
  'string_agg(s.endpoint, chr(10) order by s.id)',
  "string_agg(encode(s.p256dh || s.auth, 'hex'), '' order by s.id)",
  "string_agg(s.vapid_key_id::text, ',' order by s.id)",
  "string_agg(s.updated_at_ms::text, ',' order by s.id)",
];

// the database needs only this part of the policy
const { maxRefusals: _inCode, ...pushServicePolicy } = suspensionPolicy;
const { windowAnswers, judgedPages } = deletionGuardPolicy;

/** The values that replace `:name` in the files. */
const values: Readonly<Record<string, SqlValue>> = {
  windowAnswers,
  judgedPages,
  ...pushServicePolicy,
  clientPlaces,
  maxRowsOfKey,
  exactSlices,
  sliceStep,
  everyWindow: Number.MAX_SAFE_INTEGER,
  drawOrderEnd,
  noAction,
  membersOf: { sql: membersOf("''::bytea") },
  pageColumns: { sql: pageColumns.join(', ') },
  partitions,
  workChannel,
  outcomeColumns: { sql: listColumns },
  addOutcomes: { sql: addColumns },
  mayEnd: { sql: mayEnd },
  membersOfCounts: { sql: outcomeColumns.map((_, index) => `counts[${index + 1}]`).join(', ') },
  fineWidthMs: outcomeWidths.fine.widthMs,
  fineKeptMs: outcomeWidths.fine.keptMs,
  coarseWidthMs: outcomeWidths.coarse.widthMs,
  coarseKeptMs: outcomeWidths.coarse.keptMs,
  broadcastWidthsMs: broadcastWidths.map(({ widthMs }) => widthMs),
  broadcastWidthsUntilMs: broadcastWidths.map(({ untilMs }) => untilMs).filter(Number.isFinite),
};

/** This many digits of the hash are enough to tell versions apart. */
const hashLength = 12;

/**
 * @param version of the tables that the functions need
 * @param text SQL that creates the functions in the schema `deskbell_functions`
 */
export function describeFunctions(version = schemaVersion, text = functionsText()): DatabaseFunctions {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, hashLength);
  const schema = `deskbell_functions_${version}_${hash}`;
  return { schema, sql: `create schema ${schema};\n${text.replaceAll('deskbell_functions.', `${schema}.`)}` };
}

/** Creates all functions in the schema `deskbell_functions`. */
export const functionsText = (): string => insertValues(files.join('\n'), values);

/** @throws {Error} if a name has no value, or a value is not used */
export function insertValues(text: string, known: Readonly<Record<string, SqlValue>>): string {
  const unused = new Set(Object.keys(known));
  // excludes the cast `::bigint`
  const inserted = text.replaceAll(/(?<![:\w]):([a-zA-Z]\w*)/g, (_, name: string) => {
    if (!Object.hasOwn(known, name))
      throw new Error(`The functions of the database name :${name}, which has no value.`);
    unused.delete(name);
    return toSql(known[name]!);
  });
  if (unused.size > 0) throw new Error(`No function of the database uses ${[...unused].join(', ')}.`);
  return inserted;
}

function toSql(value: SqlValue): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`;
  if ('sql' in value) return value.sql;
  return `array[${value.join(', ')}]::bigint[]`;
}
