// The .sql files of the functions of a PostgreSQL database, as they become the text that makes the functions.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { describeFunctions, insertValues } from '../../src/store/postgres/functions/all-functions.ts';

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
