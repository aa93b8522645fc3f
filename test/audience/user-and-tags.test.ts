// What a user, a tag and an expression of them may be.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import {
  type AudienceExpression,
  type UserAndTags,
  checkExpression,
  checkUserAndTags,
} from '../../src/audience/user-and-tags.ts';

const fieldsOf = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof DeskbellError);
    return error.fields.map(({ pointer, code }) => `${pointer} ${code}`);
  }
  return 'passes';
};

test('a user is 1 to 128 bytes of text without control characters, and stays as it is', () => {
  for (const user of ['4', 'é'.repeat(64), 'e\u0301', 'Ada@example.org', ' a b ', '😀'.repeat(32)]) {
    assert.deepEqual(checkUserAndTags({ user }), { user, tags: [] });
  }
  for (const user of [
    '',
    'a'.repeat(129),
    'é'.repeat(65),
    'a\nb',
    '\x7f',
    '\u0085',
    '\ud800',
    'm\ufffdller',
  ]) {
    assert.deepEqual(
      fieldsOf(() => checkUserAndTags({ user })),
      ['/user ERR_FIELD_VALUE'],
      user,
    );
  }
  assert.throws(
    () => checkUserAndTags({ user: '\n'.repeat(129) }),
    /has 129 bytes/,
    'its length comes first',
  );
  // older versions stored such ones: they can be looked for and removed
  assert.deepEqual(checkExpression({ user: 'm\ufffdller' }), { user: 'm\ufffdller' });
  for (const user of [42, null, {}]) {
    assert.deepEqual(
      fieldsOf(() => checkUserAndTags({ user } as unknown as UserAndTags)),
      ['/user ERR_FIELD_TYPE'],
    );
  }
});

test('a tag that is too long is refused before its characters are put into one form', (t) => {
  const normalize = t.mock.method(String.prototype, 'normalize');
  assert.throws(() => checkUserAndTags({ tags: ['e\u0301'.repeat(10_000)] }));
  assert.equal(normalize.mock.callCount(), 0);
});

test('tags are short words: each once, sorted, in one spelling', () => {
  const tags = ['news', 'de', 'news', 'Über', 'U\u0308ber', '2026', 'team:a.b_c-d', 'हिन्दी'];
  assert.deepEqual(checkUserAndTags({ tags }).tags, ['2026', 'de', 'news', 'team:a.b_c-d', 'Über', 'हिन्दी']);
  const longest = ['x'.repeat(64), 'é'.repeat(32)];
  assert.deepEqual(checkUserAndTags({ tags: longest }).tags, longest);
  // its length is that of the one spelling
  assert.deepEqual(checkUserAndTags({ tags: ['u\u0308\u0304'.repeat(32)] }).tags, ['\u01d6'.repeat(32)]);
  const starts = ['-a', '.a', '_a', ':a', '\u0301a'];
  for (const tag of ['', 'a b', 'a,b', 'a/b', 'x'.repeat(65), 'é'.repeat(33), 'a\u200bb', ...starts]) {
    assert.deepEqual(
      fieldsOf(() => checkUserAndTags({ tags: ['ok', tag] })),
      ['/tags/1 ERR_FIELD_VALUE'],
      tag,
    );
  }
  for (const [wrong, pointer] of [
    ['news', '/tags'],
    [[7], '/tags/0'],
  ] as const) {
    assert.deepEqual(
      fieldsOf(() => checkUserAndTags({ tags: wrong } as unknown as UserAndTags)),
      [`${pointer} ERR_FIELD_TYPE`],
    );
  }
});

test('there are at most 32 tags', () => {
  const tags = Array.from({ length: 33 }, (_, index) => `t${index}`);
  assert.equal(
    fieldsOf(() => checkUserAndTags({ tags: [...tags.slice(1), 't5'] })),
    'passes',
  );
  assert.deepEqual(
    fieldsOf(() => checkUserAndTags({ tags })),
    ['/tags ERR_FIELD_VALUE'],
  );
  assert.deepEqual(
    fieldsOf(() => checkExpression({ tags: { any: tags } })),
    ['/tags/any ERR_FIELD_VALUE'],
  );
});

const form = (expression: AudienceExpression) => JSON.stringify(checkExpression(expression));

test('expressions that mean the same have one form', () => {
  assert.equal(
    form({ tags: { none: ['x'], all: ['b', 'a', 'b'], any: [] } }),
    form({ tags: { all: ['a', 'b'], none: ['x'] } }),
  );
  assert.equal(form({ tags: {}, user: '42' }), form({ user: '42' }));
  assert.notEqual(form({ tags: { all: ['a'] } }), form({ tags: { any: ['a'] } }));
});

test('an expression needs a user or a tag, and has no other parts', () => {
  for (const expression of [{}, { tags: {} }, { tags: { all: [], any: [], none: [] } }]) {
    assert.deepEqual(
      fieldsOf(() => checkExpression(expression)),
      [' ERR_FIELD_VALUE'],
    );
  }
  assert.deepEqual(
    fieldsOf(() => checkExpression({ user: 'a\nb', tags: { all: ['a'] } })),
    ['/user ERR_FIELD_VALUE'],
  );
  const misspelled = { tags: { some: ['a'] } } as unknown as AudienceExpression;
  assert.deepEqual(
    fieldsOf(() => checkExpression(misspelled)),
    ['/tags ERR_FIELD_VALUE'],
  );
});
