import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { openConnection } from '../../src/store/sqlite/connection.ts';
import { GroupCommit } from '../../src/store/sqlite/group-commit.ts';

describe('group commit', () => {
  let folder: string;
  let path: string;
  let database: DatabaseSync;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'deskbell-commit-'));
    path = join(folder, 'deskbell.db');
    database = await openConnection(path);
    database.exec('create table notes (text text unique) strict');
  });
  afterEach(() => {
    database.close();
    rmSync(folder, { recursive: true });
  });

  const add = (text: string) => () => database.prepare('insert into notes values (?)').run(text);
  const countNotes = () => database.prepare('select count(*) as count from notes').get()?.['count'];

  test('writes of one turn become visible to others at once, together', async () => {
    const commits = new GroupCommit(database, path);
    const other = new DatabaseSync(path);
    const versions = new Set<unknown>();
    await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        await commits.write(add(`note ${index}`));
        // one commit of another connection moves data_version on by one
        versions.add(other.prepare('pragma data_version').get()?.['data_version']);
        assert.equal(other.prepare('select count(*) as count from notes').get()?.['count'], 100);
      }),
    );
    assert.equal(versions.size, 1);
    other.close();
  });

  test('work that throws is undone alone, also what it had done before', async () => {
    const commits = new GroupCommit(database, path);
    const thrown = new Error('half-way');
    const results = await Promise.allSettled([
      commits.write(add('first')),
      commits.write(() => {
        add('half')();
        throw thrown;
      }),
      commits.write(add('last')),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.ok(results[1]?.status === 'rejected' && results[1].reason === thrown);
    assert.equal(countNotes(), 2);
  });

  test('a full disk fails every write of the turn, keeps what was there, and later writes work again', async () => {
    const commits = new GroupCommit(database, path);
    await commits.write(add('before'));
    const pages = database.prepare('pragma page_count').get()?.['page_count'];
    database.exec(`pragma max_page_count = ${Number(pages)}`);

    const results = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) => commits.write(add(`${index}${'x'.repeat(4000)}`))),
    );
    const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    assert.ok(reasons.length > 0);
    for (const reason of reasons) {
      assert.equal(reason.code, 'ERR_STORE_UNAVAILABLE');
      assert.match(reason.message, /disk is full/);
    }
    assert.equal(countNotes(), 1 + results.length - reasons.length, 'what was acknowledged is there');

    database.exec('pragma max_page_count = 1000000');
    await commits.write(add('after'));
    assert.equal(countNotes(), 2 + results.length - reasons.length);
  });

  test('a lock that is held too long is ERR_STORE_UNAVAILABLE, and later writes work again', async () => {
    const commits = new GroupCommit(database, path, 50);
    const other = new DatabaseSync(path);
    other.exec('begin immediate');
    await assert.rejects(commits.write(add('kept out')), {
      code: 'ERR_STORE_UNAVAILABLE',
      message: /locked by another process/,
    });
    other.exec('rollback');
    other.close();
    await commits.write(add('let in'));
    assert.equal(countNotes(), 1);
  });
});
