// What a command says of an error: one line with what failed, the reason in plain words, the remedy and the code.
import assert from 'node:assert/strict';
import { readFileSync, writeSync } from 'node:fs';
import { test } from 'node:test';
import { catalogue, type ErrorCode } from '../../src/errors/catalogue.ts';
import { exitCodeOf, formatError } from '../../src/cli/output/failure.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';

function catchError(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return assert.fail('it does not fail');
}

test('an error of the operating system names the file or the system call, and its reason', () => {
  assert.match(
    formatError(catchError(() => readFileSync('/nowhere/at/all'))),
    /^deskbell: \/nowhere\/at\/all cannot be used: no such file or directory\. .* \[ERR_FILE\]$/,
  );
  assert.match(
    formatError(catchError(() => writeSync(1_000_000, 'text'))),
    /^deskbell: The system call write failed: EBADF.* \[ERR_FILE\]$/,
  );
});

test('lines of a message become one; a cause that is no system error is left to --debug', () => {
  const error = new DeskbellError('ERR_CONFIGURATION', 'one\n  two.', { cause: new Error('inner') });
  const line = formatError(error);
  assert.match(line, /^deskbell: one two\. .* \[ERR_CONFIGURATION\]$/);
  assert.ok(!line.includes('inner'));
  assert.match(formatError(error, { debug: true }), /\n {4}at .*\ncaused by Error: inner\n/s);
});

test('what is thrown without being an error is reported too', () => {
  assert.match(formatError('broken'), /^deskbell: broken\. .* \[ERR_COMMAND\]$/);
});

test('a remedy that the message names already is not repeated', () => {
  const error = new DeskbellError(
    'ERR_STORE_CORRUPT',
    'It is damaged. Restore it from a backup; or delete it.',
  );
  assert.equal(
    formatError(error),
    'deskbell: It is damaged. Restore it from a backup; or delete it. [ERR_STORE_CORRUPT]',
  );
});

test('usage and configuration that are wrong exit with 2, all other errors with 1', () => {
  for (const code of Object.keys(catalogue) as ErrorCode[]) {
    const isWrongUsage = code === 'ERR_USAGE' || code === 'ERR_CONFIGURATION';
    assert.equal(exitCodeOf(new DeskbellError(code, 'x')), isWrongUsage ? 2 : 1, code);
  }
  assert.equal(exitCodeOf(new Error('x')), 1);
});
