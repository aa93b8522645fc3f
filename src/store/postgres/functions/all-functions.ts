// All functions of the database. Each version of them stands in a schema of its own, named by what they are, so that
// processes of another version go on with theirs, and a function that changes reaches a database that exists.
import { createHash } from 'node:crypto';
import { migrations } from '../migrations.ts';
import { broadcastFunctions } from './broadcasts.ts';
import { clientRequestFunctions } from './client-requests.ts';
import { goneMarkFunctions } from './gone-marks.ts';
import { personReachFunctions } from './person-reaches.ts';
import { pushServiceFunctions } from './push-services.ts';
import { rateLimitFunctions } from './rate-limits.ts';
import { receiptFunctions } from './receipts.ts';
import { rowFunctions } from './rows.ts';
import { subscriptionFunctions } from './subscriptions.ts';
import { workFunctions } from './work.ts';

/** @returns the statements that make the functions in this schema */
export type FunctionGroup = (schema: string) => string;

export interface DatabaseFunctions {
  /** Where they are: `deskbell_functions_<version of the tables>_<hash of their text>`. */
  readonly schema: string;
  /** What makes them, and their schema. */
  readonly sql: string;
}

/** In the order of their use of each other. */
export const functionGroups: readonly FunctionGroup[] = [
  subscriptionFunctions,
  pushServiceFunctions,
  goneMarkFunctions,
  broadcastFunctions,
  workFunctions,
  personReachFunctions,
  rowFunctions,
  receiptFunctions,
  rateLimitFunctions,
  clientRequestFunctions,
];

/** Of the hash of their text: enough to tell versions apart. */
const hashLength = 12;

/** @param version of the tables that they are for */
export function describeFunctions(
  version = migrations.length,
  groups: readonly FunctionGroup[] = functionGroups,
): DatabaseFunctions {
  const textIn = (schema: string): string => groups.map((group) => group(schema)).join('\n');
  const hash = createHash('sha256').update(textIn('functions')).digest('hex').slice(0, hashLength);
  const schema = `deskbell_functions_${version}_${hash}`;
  return { schema, sql: `create schema ${schema};\n${textIn(schema)}` };
}
