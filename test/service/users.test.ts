// Where the example API's users are kept: in a file of their own.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import {
  type ExampleUsers,
  type ExampleUsersOptions,
  openExampleUsers,
} from '../../src/service/demonstration/users.ts';

describe('the example users', () => {
  let folder: string;
  let path: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'deskbell-users-'));
    path = join(folder, 'example-users.db');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('an update is read back after reopening', async () => {
    const changed = { id: 1n, name: 'Grace "Ω" Hopper', email: 'grace@example.org' };
    await use({ path }, async (users) => {
      assert.equal(await users.update(changed), true);
    });
    assert.deepEqual(await use({ path }, (users) => users.find(1n)), changed);
  });

  test('nobody but the owner may read the file', { skip: process.platform === 'win32' }, async () => {
    await use({ path }, async () => assert.equal(statSync(path).mode & 0o777, 0o600));
  });

  test('a FIFO is ERR_STORE_UNAVAILABLE, and not waited for', { skip: process.platform === 'win32' }, () => {
    execFileSync('mkfifo', [path]);
    assert.throws(() => openExampleUsers({ path }), { code: 'ERR_STORE_UNAVAILABLE' });
  });

  test('a file that is not a database is ERR_STORE_UNAVAILABLE and is left alone', () => {
    writeFileSync(path, 'a diary '.repeat(100));
    assert.throws(() => openExampleUsers({ path }), { code: 'ERR_STORE_UNAVAILABLE' });
    assert.equal(statSync(path).size, 800);
  });
});

async function use<Result>(
  options: ExampleUsersOptions,
  work: (users: ExampleUsers) => Promise<Result>,
): Promise<Result> {
  const users = openExampleUsers(options);
  try {
    return await work(users);
  } finally {
    users.close();
  }
}
