// What tests say of calls that fail.
import assert from 'node:assert/strict';

/** The call fails with this code, and in these words where some are given. */
export const refuses = (call: Promise<unknown>, code: string, message = /(?:)/): Promise<void> =>
  assert.rejects(call, { code, message });

/** The codes of those calls that have failed. */
export const refusalsOf = (results: readonly PromiseSettledResult<unknown>[]): readonly string[] =>
  results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []));
