// Statements with a name for each value.
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { prepareStatement } from '../../src/store/sqlite/database.ts';

const database = new DatabaseSync(':memory:');
database.exec('create table rows (id integer primary key, word text) strict');
const add = prepareStatement<{ id: number; word: string | null }>(
  database,
  'insert into rows (id, word) values (:id, :word)',
);

test('values go to their names, in whatever order and as often as they stand in the text', () => {
  assert.equal(add.run({ word: 'one', id: 1 }), 1);
  assert.equal(add.run({ id: 2, word: null }), 1);
  const find = prepareStatement<{ word: string; id: number }, { id: number }>(
    database,
    'select id from rows where id = :id and (word = :word or :id = 2)',
  );
  assert.equal(find.first({ word: 'one', id: 1 })?.id, 1);
  assert.equal(find.first({ word: 'one', id: 2 })?.id, 2);
  assert.equal(find.first({ word: 'two', id: 1 }), undefined);
});

test('a value that is missing is not taken for null, and one that nobody asked for is not passed over', () => {
  assert.throws(() => add.run({ id: 3 } as never), /No value for the parameter "word"/);
  assert.throws(() => add.run({ id: 3, word: 'x', wrod: 'y' } as never), /no parameter "wrod"/);
  assert.equal(
    prepareStatement<Record<string, never>, { n: number }>(database, 'select count(*) as n from rows').first(
      {},
    )?.n,
    2,
  );
});

test('rows come as tuples where that is asked for', () => {
  const sql = 'select id, word from rows where id = :id';
  const asTuples = prepareStatement<{ id: number }, readonly [number, string]>(database, sql, {
    arrays: true,
  });
  assert.deepEqual(asTuples.all({ id: 1 }), [[1, 'one']]);
});

test('a statement is prepared when it is first run, and what is wrong with it is thrown then', () => {
  const count = prepareStatement<Record<string, never>, { n: number }>(
    database,
    'select count(*) as n from later',
  );
  assert.throws(() => count.first({}), /no such table: later/);
  database.exec('create table later (id integer primary key) strict');
  assert.equal(count.first({})?.n, 0);
});
