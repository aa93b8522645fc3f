// Sets of ids: as bytes and back, whatever the ids are.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, assert as check, constant, integer, oneof, property, uniqueArray } from 'fast-check';
import { decodeIds, encodeIds, indexOfId, nextIdOf } from '../../src/store/id-set.ts';

const maxId = Number.MAX_SAFE_INTEGER;
/** Runs, small gaps and any ids at all. */
const distances = array(
  oneof(
    { weight: 6, arbitrary: constant(1) },
    { weight: 3, arbitrary: integer({ min: 1, max: 300 }) },
    integer({ min: 1, max: 2 ** 45 }),
  ),
  { maxLength: 200 },
);
const idLists = oneof(
  distances.map((all) => {
    let last = 0;
    return all.map((distance) => (last += distance));
  }),
  uniqueArray(integer({ min: 1, max: maxId })).map((ids) => ids.toSorted((a, b) => a - b)),
);

test('a set of ids comes back as it was given', () => {
  check(property(idLists, (ids) => assert.deepEqual(decodeIds(encodeIds(ids)), ids)));
});

test('an id is found where it stands, and no other', () => {
  check(
    property(idLists, integer({ min: 0, max: maxId }), (ids, other) => {
      const set = encodeIds(ids);
      for (const id of [...ids, other, ...ids.map((one) => one + 1)])
        assert.equal(indexOfId(set, id), ids.indexOf(id));
    }),
  );
});

test('the next id after any other is found', () => {
  check(
    property(idLists, integer({ min: 0, max: maxId }), (ids, other) => {
      const set = encodeIds(ids);
      for (const id of [0, other, ...ids, ...ids.map((one) => one - 1)])
        assert.equal(
          nextIdOf(set, id),
          ids.find((one) => one > id),
        );
    }),
  );
});

test('ids without gaps take a few bytes, one of thirty-two at most two each', () => {
  const ids = Array.from({ length: 1024 }, (_, index) => 5_000_000 + index);
  assert.ok(encodeIds(ids).length <= 8);
  assert.ok(encodeIds(ids.map((id) => 32 * id)).length <= 1024 + 8);
  assert.ok(encodeIds(ids.map((id) => 320 * id)).length <= 2 * 1024 + 8);
});

test('what is no set of ids is refused', () => {
  for (const ids of [[0], [-1], [2, 1], [3, 3], [1.5], [maxId + 1], [Number.NaN]]) {
    assert.throws(() => encodeIds(ids), RangeError);
  }
  assert.throws(() => decodeIds(Uint8Array.of(1, 0x80)), RangeError);
  assert.throws(() => decodeIds(Uint8Array.of(1, 0)), RangeError);
});
