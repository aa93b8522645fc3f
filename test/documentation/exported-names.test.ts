// Every name that the package exports has a comment, which editors show; those that people meet first have an example.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readEntries } from '../../scripts/exported-names.ts';
import { root } from '../../scripts/repository.ts';

const met = [
  'createSender',
  'openDataDirectory',
  'generateVapidKeys',
  'createServer',
  'createService',
  'createMiddleware',
  'createClient',
  'startPushService',
  'createUserAgent',
  'parseSubscription',
  'encodePayload',
  'sendNotification',
];

suite('exported names', () => {
  const all = readEntries().flatMap(({ declarations }) => declarations);

  test('each has a comment', () => {
    assert(all.length > 150, String(all.length));
    const bare = all.filter(({ comment }) => comment === undefined);
    assert.deepEqual(
      bare.map(({ name, file }) => `${name} in ${file.slice(root.length + 1)}`),
      [],
    );
  });

  for (const name of met) {
    test(`${name} has an example`, () => {
      const found = all.find((declaration) => declaration.name === name);
      assert.match(found?.comment ?? '', /@example\n/);
    });
  }
});
