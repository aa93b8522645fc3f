// All functions of the database. Each version of the schema has its own, in a schema of its own, so that processes of the
// version before go on with theirs.
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

/** @param version of the tables that they are for */
export const functionSchema = (version: number): string => `deskbell_functions_${version}`;

/** What makes them, in the order of their use of each other. */
export function createFunctions(schema: string): string {
  const groups = [
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
  return [`create schema ${schema};`, ...groups.map((group) => group(schema))].join('\n');
}
