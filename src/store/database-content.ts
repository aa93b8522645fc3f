// What is read of a database that is looked into without being brought to the newest schema. Types only.
import type { SendingPause } from './sending.ts';
import type { StoredVapidKey } from './vapid-keys.ts';

export interface DatabaseContent {
  readonly keys: readonly StoredVapidKey[];
  /** How many were made with each key. */
  readonly subscriptions: ReadonlyMap<string, number>;
  /** `undefined` if the store sends by itself. */
  readonly pause: SendingPause | undefined;
}

/** How far a database has come, without it being changed. */
export interface DatabaseState {
  /** The version of its tables, and the newest one. */
  readonly schema: number;
  readonly newestSchema: number;
  /** What is in it; unknown before the schema is the newest. */
  readonly content: DatabaseContent | undefined;
}
