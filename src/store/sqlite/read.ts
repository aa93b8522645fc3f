// Reads happen at once, outside of the group commit; their faults are told in Deskbell's words all the same.
import { toStoreError } from './sqlite-error.ts';

export type Read = <Result>(query: () => Result) => Promise<Result>;

/** @returns a function that runs a query against the database at `path` */
export function createRead(path: string): Read {
  return async (query) => {
    try {
      return query();
    } catch (error) {
      throw toStoreError(error, path);
    }
  };
}
