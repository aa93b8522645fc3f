// How many an audience has, before anything is sent: exact where that takes little, an estimate that is called one otherwise.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { TagExpression } from '../../src/audience/user-and-tags.ts';
import {
  countAudience,
  createAudienceEstimator,
  formatAudienceSize,
} from '../../src/delivery/broadcast/estimate-audience.ts';
import { forecast, formatForecast } from '../../src/delivery/broadcast/forecast.ts';
import { countReadersOf } from '../../src/delivery/broadcast/count-readers.ts';
import type { Store } from '../../src/store/store.ts';
import { madeUpSubscription } from '../store/made-up-subscription.ts';
import { addSubscriptions, commitNext, madeUpBroadcast, withResult } from '../store/store-under-test.ts';
import { openTestStore, type OpenedStore } from '../store/test-database.ts';
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
  await addSubscriptions(store, rows, 0, (index) => ({
    assign: { tags: tagsOf(index), ...(index < 2 && { user: 'ada' }) },
  }));
  let nowMs = 0;
  // each sample has the first subscription
  const sampled = createAudienceEstimator(store, { sampleRows, now: () => nowMs, random: () => 0 });
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

  // of given subscriptions, spellings of one endpoint are counted once
  const first = madeUpSubscription(1);
  const again = { ...first, endpoint: first.endpoint.replace('https://', 'HTTPS://') };
  const subscriptions = [first, again, madeUpSubscription(2)];
  assert.equal(await countAudience({ subscriptions }, store), 2);
});

/** Subscriptions that were stored one after the other. */
interface Segment {
  readonly rows: number;
  /** How many ids nobody has before them: deleted ranges, or a sequence that was set. */
  readonly gap: number;
  /** Of so many, one is left; the others have been deleted. */
  readonly oneOf: number;
  /** Of so many in a row, as many have the tag `a`. */
  readonly tagged: readonly [some: number, of: number];
}

const segment = fc.record<Segment>({
  rows: fc.integer({ min: 0, max: 1500 }),
  gap: fc.constantFrom(0, 0, 1000, 1_000_000_000),
  oneOf: fc.constantFrom(1, 1, 3, 40),
  tagged: fc.constantFrom([0, 1], [1, 1], [1, 3], [1, 40], [30, 60], [200, 1000]),
});

const shapes: Readonly<Record<string, readonly Segment[]>> = {
  empty: [],
  tiny: [{ rows: 3, gap: 1000, oneOf: 1, tagged: [1, 3] }],
  all: [{ rows: 2000, gap: 0, oneOf: 1, tagged: [1, 1] }],
  none: [{ rows: 2000, gap: 0, oneOf: 1, tagged: [0, 1] }],
  uniform: [{ rows: 2000, gap: 0, oneOf: 1, tagged: [1, 3] }],
  clustered: [{ rows: 2000, gap: 0, oneOf: 1, tagged: [200, 1000] }],
  'the newest alone': [
    { rows: 1960, gap: 0, oneOf: 1, tagged: [0, 1] },
    { rows: 40, gap: 0, oneOf: 1, tagged: [1, 1] },
  ],
  'the newest third': [
    { rows: 1337, gap: 0, oneOf: 1, tagged: [0, 1] },
    { rows: 1000, gap: 0, oneOf: 1, tagged: [1, 1] },
  ],
  'a deleted range': [
    { rows: 1000, gap: 0, oneOf: 1, tagged: [0, 1] },
    { rows: 1000, gap: 1_000_000_000, oneOf: 1, tagged: [1, 1] },
  ],
  'few of the oldest left': [
    { rows: 1500, gap: 0, oneOf: 40, tagged: [1, 1] },
    { rows: 1500, gap: 0, oneOf: 1, tagged: [1, 3] },
  ],
};

const expressions: readonly TagExpression[] = [
  { all: ['a'] },
  { any: ['a', 'odd'] },
  { none: ['a'] },
  { all: ['odd'], none: ['a'] },
  { all: ['a', 'odd'] },
];

/** A sequence of numbers from 0 to 1 that is the same each time (Park and Miller's generator). */
function createRandom(seed: number): () => number {
  let state = (seed % 2_147_483_646) + 1;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

test('an estimate is as near to the exact count as its sample can say, in stores of every shape', async () => {
  const property = fc.asyncProperty(fc.array(segment, { maxLength: 5 }), fc.nat(), async (segments, seed) => {
    const { store, run, remove } = await openTestStore();
    try {
      await fill(store, run, segments);
      await compare(store, createRandom(seed));
    } finally {
      await remove();
    }
  });
  await fc.assert(property, {
    seed: 1,
    numRuns: 4,
    examples: Object.values(shapes).map((segments, seed) => [[...segments], seed]),
    endOnFailure: true,
  });
});

async function fill(store: Store, run: OpenedStore['run'], segments: readonly Segment[]): Promise<void> {
  const isPostgres = store.address.database === 'postgres';
  let index = 0;
  let lastId = 0;
  for (const { rows: length, gap, oneOf, tagged } of segments) {
    await run(
      isPostgres
        ? `select setval('subscriptions_id_seq', ${lastId + gap + 1}, false)`
        : `insert or replace into sqlite_sequence (rowid, name, seq)
           select (select rowid from sqlite_sequence where name = 'subscriptions'), 'subscriptions', ${lastId + gap}`,
    );
    const [some, of] = tagged;
    await addSubscriptions(store, length, index, (row) => ({
      assign: { tags: [...(row % of < some ? ['a'] : []), ...(row % 2 === 1 ? ['odd'] : [])] },
      language: row % of < some ? 'de' : 'fr',
    }));
    index += length;
    await run(
      `delete from subscriptions where id > ${lastId + gap} and (id - ${lastId + gap}) % ${oneOf} <> 0`,
    );
    lastId += gap + length;
  }
}

async function compare(store: Store, random: () => number): Promise<void> {
  const estimator = createAudienceEstimator(store, { sampleRows, random });
  const stored = await store.subscriptions.count();
  const text = { title: 'Hello', message: 'World', texts: { de: { title: 'Hallo' } } };
  for (const tags of expressions) {
    const exact = await countAudience({ tags }, store);
    const size = await estimator.estimate({ tags }, 0);
    const context = `${formatAudienceSize(size)}: ${exact} of ${stored} ${JSON.stringify(tags)}`;
    // what is shown is what was estimated, to two digits
    const shown = Number(/[\d,]+/.exec(formatAudienceSize(size))![0].replaceAll(',', ''));
    assert.ok(
      Math.abs(shown - size.count) <= Math.max(1, size.count / 10),
      `${size.count} is shown as ${context}`,
    );
    if (size.kind === 'below') assert.ok(exact < shown, context);
    else if (size.kind === 'about')
      assert.ok(
        Math.abs(size.count - exact) <= 5 * size.error + exact / 20,
        `${context}, error ${size.error}`,
      );
    else assert.equal(size.count, exact, context);
    if (stored <= sampleRows) assert.equal(size.kind, 'exact', context);
    // a sample of so many says something of what is not rare, however the ids are spread
    else if (exact > stored / 3) assert.equal(size.kind, 'about', context);
    else if (exact < stored / 50) assert.ok(size.count < stored / 2, context);
  }
  const size = { kind: 'exact', count: stored } as const;
  const readers = (await countReadersOf('all', text, {}, store, size, sampleRows))!;
  assert.equal(readers.isEstimate, stored > sampleRows);
  assert.equal(Math.round(readers.reached.count), stored);
  const german = await countAudience({ tags: { all: ['a'] } }, store);
  const { de = 0, undefined: own = 0 } = Object.fromEntries(readers.byText) as Record<string, number>;
  assert.ok(Math.abs(de + own - stored) <= 1, `${de} + ${own} of ${stored}`);
  if (!readers.isEstimate) assert.equal(de, german);
  else assert.ok(Math.abs(de - german) <= stored / 4, `${de} of ${german} in German`);
}

test('how long a broadcast takes is told by the last ones that went to as many, from their first outcome on', async (t) => {
  const startMs = 1_800_000_000_000;
  let nowMs = startMs;
  const { store, remove } = await openTestStore(() => nowMs);
  t.after(remove);
  await addSubscriptions(store, 100);
  assert.match(formatForecast(await forecast(store, 50)), /^not known, because none of the last 20 /);
  const broadcastId = (await store.broadcasts.create(madeUpBroadcast(startMs))).broadcast.id;
  // its worker came a minute late, and it was paused for an hour
  for (const afterMs of [60, 60, 61, 61, 61, 62, 62, 62, 3662, 3690].map((seconds) => seconds * 1000)) {
    nowMs = startMs + afterMs;
    await commitNext(store, withResult('https://fcm.googleapis.com', 'accepted'), broadcastId);
  }
  // half are reached within two seconds of the first outcome, and the rest after the pause
  const usual = { perSecond: 50 / 2, broadcasts: 1 };
  const seconds = 50 / usual.perSecond;
  const known = await forecast(store, 50);
  assert.deepEqual(known, { ...usual, seconds, doneAtMs: nowMs + seconds * 1000 });
  assert.equal(formatForecast(known), 'about 2 s, as the last broadcast went: 25 a second');
  const { doneAtMs } = (await forecast(store, 50, nowMs + 60_000))!;
  assert.equal(doneAtMs, known!.doneAtMs + 60_000, 'those who get it last');
  assert.equal(await forecast(store, 101), undefined, 'none went to as many');
});
