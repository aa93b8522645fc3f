// How many an audience has, before anything is sent: exact where that takes little, an estimate that is called one otherwise.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TagExpression } from '../../src/audience/user-and-tags.ts';
import { countAudience } from '../../src/delivery/broadcast/count-audience.ts';
import {
  createAudienceEstimator,
  formatAudienceSize,
} from '../../src/delivery/broadcast/estimate-audience.ts';
import { madeUpSubscription, vapidPublicKey } from '../store/made-up-subscription.ts';
import { openTestStore } from '../store/test-database.ts';
import { until } from '../../tools/until.ts';

const rows = 1200;
const sampleRows = 300;

const tagsOf = (index: number): readonly string[] => [
  index < rows / 2 ? 'first' : 'second',
  ...(index % 4 === 0 ? ['fourth'] : []),
  ...(index === 700 ? ['one'] : []),
];

test('an audience is counted where few are looked at, and estimated from a sample otherwise', async (t) => {
  const { store, remove } = await openTestStore();
  t.after(remove);
  await store.subscriptions.putAll(
    Array.from({ length: rows }, (_, index) => ({
      subscription: madeUpSubscription(index),
      vapidPublicKey,
      assign: { tags: tagsOf(index), ...(index < 2 && { user: 'ada' }) },
    })),
  );
  let nowMs = 0;
  const sampled = createAudienceEstimator(store, { sampleRows, now: () => nowMs });
  const whole = createAudienceEstimator(store, { now: () => nowMs });
  const sizeOf = async (tags: TagExpression, maxCandidates?: number): Promise<string> =>
    formatAudienceSize(await sampled.estimate({ tags }, maxCandidates));

  // counted, whatever the sample has
  assert.equal(await sizeOf({ all: ['fourth'] }), '300 subscriptions');
  assert.equal(await sizeOf({ all: ['first', 'one'] }), '0 subscriptions');
  assert.equal(await sizeOf({ none: ['fourth'] }), '900 subscriptions');
  assert.equal(formatAudienceSize(await sampled.estimate('all', 0)), '1,200 subscriptions');
  assert.equal(formatAudienceSize(await sampled.estimate({ user: 'ada' }, 0)), '2 subscriptions');
  assert.equal(formatAudienceSize(await sampled.estimate({ ids: [1, 1, 9999] })), '1 subscription');
  // ids are looked up one by one
  assert.equal(
    formatAudienceSize(await sampled.estimate({ ids: [1, 1, 9999] }, 79)),
    'at most 2 subscriptions, an estimate',
  );
  // the rarest tag of all is what is looked at
  assert.equal(await sizeOf({ all: ['first', 'fourth'] }, 400), '150 subscriptions');

  // of any, all that have one of them are: about 600 and 300
  assert.equal(await sizeOf({ any: ['first', 'fourth'] }, 1100), '750 subscriptions');
  assert.match(await sizeOf({ any: ['first', 'fourth'] }, 750), /, an estimate$/);

  // estimated: within a quarter of what there are, and called so
  for (const [tags, exact] of [
    [{ all: ['fourth'] }, 300],
    [{ any: ['first', 'second'] }, 1200],
    [{ all: ['first'], none: ['fourth'] }, 450],
    [{ none: ['first'] }, 600],
  ] as const) {
    const text = await sizeOf(tags, 100);
    const [, count = ''] = /^about ([\d,]+) subscriptions, an estimate$/.exec(text) ?? [];
    const estimate = Number(count.replaceAll(',', ''));
    assert.ok(Math.abs(estimate - exact) <= exact / 4, `${text} of ${exact}`);
  }
  // too few in the sample to say more
  assert.match(
    await sizeOf({ all: ['first', 'second'] }, 100),
    /^fewer than 1\d subscriptions, an estimate$/,
  );

  const { tags, isSample } = await sampled.topTags(2);
  assert.ok(isSample);
  assert.deepEqual(tags.map(({ tag }) => tag).toSorted(), ['first', 'second']);
  const every = await whole.topTags(9);
  assert.deepEqual(every, {
    isSample: false,
    tags: [
      { tag: 'first', subscriptions: 600 },
      { tag: 'second', subscriptions: 600 },
      { tag: 'fourth', subscriptions: 300 },
      { tag: 'one', subscriptions: 1 },
    ],
  });
  // a sample is read anew after ten seconds, while the one before it is used for a minute; what is no sample, at once
  await store.people.changeTags(1, { add: ['new'] });
  const hasNew = async (estimator = sampled): Promise<boolean> =>
    (await estimator.topTags(9)).tags.some(({ tag }) => tag === 'new');
  assert.equal(await hasNew(), false);
  assert.equal(await hasNew(whole), false);
  nowMs = 11_000;
  assert.equal(await hasNew(), false);
  assert.equal(await hasNew(whole), true);
  await until(() => hasNew(), 'the next sample');
  await store.people.changeTags(1, { remove: ['new'] });
  nowMs = 100_000;
  assert.equal(await hasNew(), false);
});

test('of given subscriptions, spellings of one endpoint are counted once', async (t) => {
  const { store, remove } = await openTestStore();
  t.after(remove);
  const first = madeUpSubscription(1);
  const again = { ...first, endpoint: first.endpoint.replace('https://', 'HTTPS://') };
  const subscriptions = [first, again, madeUpSubscription(2)];
  assert.equal(await countAudience({ subscriptions }, store.subscriptions), 2);
});
