// Statements with a name for each value, and the functions of a PostgreSQL database as text.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { describeFunctions, insertValues } from '../../src/store/postgres/functions/all-functions.ts';
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

// The .sql files of the functions of a PostgreSQL database, as they become the text that makes the functions.

const folder = new URL('../../src/store/postgres/functions/', import.meta.url);

test('every function of every .sql file is made, in the schema of its version', async () => {
  const { schema, sql } = describeFunctions();
  const files = (await readdir(folder)).filter((name) => name.endsWith('.sql'));
  assert.ok(files.length > 0);
  for (const file of files) {
    const text = await readFile(new URL(file, folder), 'utf8');
    const names = [...text.matchAll(/create function deskbell_functions\.(\w+)\(/g)].map(([, name]) => name);
    assert.notDeepEqual(names, [], file);
    for (const name of names)
      assert.ok(sql.includes(`create function ${schema}.${name}(`), `${file}: ${name}`);
  }
  assert.doesNotMatch(sql, /deskbell_functions\./);
});

test('numbers, words and lists take the places of their names; casts, assignments and texts stay', () => {
  assert.equal(
    insertValues(`a := b::text || 'c:' || :word; d := e * :number; f := (:list)[1:2]`, {
      word: "it's",
      number: 0.25,
      list: [1, 2],
    }),
    `a := b::text || 'c:' || 'it''s'; d := e * 0.25; f := (array[1, 2]::bigint[])[1:2]`,
  );
});

test('a name without a value is an error, and a value that no function uses', () => {
  assert.throws(() => insertValues('select :rows', {}), /name :rows, which has no value/);
  assert.throws(() => insertValues('select 1', { rows: 1 }), /uses rows\./);
});
