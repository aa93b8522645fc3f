// What a sender tells the store of single messages: in batches, one after the other, within bounds, and again where the store
// was away.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { OriginGate } from '../../src/delivery/limits/origin-gate.ts';
import type { Destination } from '../../src/delivery/message-path/destinations.ts';
import type { Result } from '../../src/delivery/message-path/message-path.ts';
import { defaultWorkerSettings } from '../../src/delivery/settings/settings.ts';
import { AnswerLog, maxRemembered, type SingleAnswer } from '../../src/delivery/single/answer-log.ts';
import { gatherTurn } from '../../src/delivery/single/gather.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import type { AnswerCommit } from '../../src/store/ledger.ts';
import { madeUpSubscription, vapidPublicKey } from '../store/made-up-subscription.ts';

const origin = 'https://push.example.org';

function open(store: (commit: AnswerCommit) => Promise<void> = async () => {}) {
  const commits: AnswerCommit[] = [];
  const warnings: string[] = [];
  const recordAnswers = async (commit: AnswerCommit) => {
    commits.push(commit);
    await store(commit);
    return [];
  };
  const destinations = { takeAnswers: () => [], setStates: () => {} };
  const log = new AnswerLog({ recordAnswers }, destinations, (warning) => warnings.push(warning));
  const gate = new OriginGate(defaultWorkerSettings);
  const add = (index: number, answer: SingleAnswer, at = origin) =>
    log.add(madeUpSubscription(index), { origin: at, vapidPublicKey, gate } as Destination, resultOf(answer));
  return { log, add, commits, warnings };
}

const resultOf = (answer: SingleAnswer): Result => {
  const response = { status: 0, headers: {}, body: '' };
  if (answer === 'accepted' || answer === 'gone')
    return { kind: 'response', response, outcome: { kind: answer } as never };
  const reason = answer === 'refused' ? 'vapid-refused' : 'bad-request';
  return { kind: 'response', response, outcome: { kind: 'rejected', reason } as never };
};

const untilTold = () => new Promise(setImmediate);

/** A promise to be settled by hand. */
const later = () => Promise.withResolvers<void>();

test('answers are told together; only one that is gone is waited for', async () => {
  const { log, add, commits } = open();
  assert.equal(add(1, 'accepted'), undefined);
  assert.equal(add(2, 'other'), undefined);
  assert.equal(add(3, 'refused'), undefined);
  assert.equal(commits.length, 0);
  await add(4, 'gone');
  assert.equal(commits.length, 1);
  const [{ accepted, other, refused, gone, goneSubscriptions, acceptedEndpoints } = assert.fail()] =
    commits[0]!.origins;
  assert.deepEqual([accepted, other, refused, gone], [1, 1, 1, 1]);
  assert.deepEqual(goneSubscriptions, [madeUpSubscription(4)]);
  assert.deepEqual(acceptedEndpoints, [madeUpSubscription(1).endpoint]);
  await log.close();
  assert.equal(commits.length, 1, 'there is nothing more to tell');
});

test('of several answers for one subscription the last one counts', async () => {
  const { log, add, commits } = open();
  add(1, 'accepted');
  add(2, 'accepted');
  const gone = add(1, 'gone');
  add(1, 'gone');
  add(3, 'gone');
  add(3, 'accepted');
  await gone;
  const [told] = commits[0]!.origins;
  assert.deepEqual([told?.accepted, told?.gone], [3, 3]);
  assert.deepEqual(told?.goneSubscriptions, [madeUpSubscription(1)]);
  assert.deepEqual(
    told?.acceptedEndpoints,
    [2, 3].map((index) => madeUpSubscription(index).endpoint),
  );
  await log.close();
});

test('while the store is slow, more answers than are remembered are counted, and told in one commit', async () => {
  const slow = later();
  const { log, add, commits } = open(() => slow.promise);
  const answers = 2 * maxRemembered;
  const first = add(0, 'gone');
  for (let index = 1; index <= answers; index += 1) add(index, index % 2 === 0 ? 'accepted' : 'gone');
  for (let host = 0; host < 2000; host += 1) add(0, 'other', `https://push-${host}.example.org`);
  assert.equal(commits.length, 0);
  await Promise.resolve();
  slow.resolve();
  await first;
  await log.close();
  assert.ok(commits.length <= 2);
  const all = commits.flatMap(({ origins }) => origins).filter((told) => told.origin === origin);
  assert.equal(
    all.reduce((sum, { accepted, gone }) => sum + accepted + gone, 0),
    answers + 1,
  );
  for (const { origins } of commits) {
    const remembered = origins.flatMap((told) => [...told.goneSubscriptions, ...told.acceptedEndpoints]);
    assert.ok(remembered.length <= maxRemembered, `${remembered.length} are remembered`);
    assert.ok(origins.length <= 1024, `${origins.length} push services are remembered`);
  }
});

test('a thousand answers are told at once, fewer after a second', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { log, add, commits } = open();
  for (let index = 1; index < 1000; index += 1) add(index, 'accepted');
  await untilTold();
  assert.equal(commits.length, 0);
  add(1000, 'accepted');
  await untilTold();
  assert.deepEqual(
    commits.map(({ origins }) => origins[0]?.accepted),
    [1000],
  );
  add(1, 'accepted');
  t.mock.timers.tick(999);
  await untilTold();
  assert.equal(commits.length, 1);
  t.mock.timers.tick(1);
  await untilTold();
  assert.equal(commits[1]?.origins[0]?.accepted, 1);
  await log.close();
});

test('one commit is made at a time', async () => {
  const turns = [later(), later()];
  let turn = 0;
  const { log, add, commits } = open(() => turns[turn++]!.promise);
  const first = add(1, 'gone');
  await new Promise(setImmediate);
  const others = [add(2, 'gone'), add(3, 'gone')];
  await new Promise(setImmediate);
  assert.equal(commits.length, 1);
  turns[0]!.resolve();
  await first;
  await new Promise(setImmediate);
  assert.equal(commits.length, 2);
  assert.equal(commits[1]!.origins[0]?.gone, 2);
  turns[1]!.resolve();
  await Promise.all(others);
  await log.close();
});

test('a commit that failed while the store was away is made again under its id', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let isAway = true;
  const { log, add, commits, warnings } = open(async () => {
    if (isAway) throw new DeskbellError('ERR_STORE_UNAVAILABLE', 'It is away.');
  });
  await add(1, 'gone');
  assert.match(warnings.join(), /could not be stored: .*away/);
  add(2, 'accepted');
  isAway = false;
  await log.close();
  assert.equal(commits.length, 3);
  assert.equal(commits[1], commits[0]);
  assert.notEqual(commits[2]!.id, commits[0]!.id);
  assert.equal(commits[2]!.origins[0]?.accepted, 1);

  isAway = true;
  await add(3, 'gone');
  isAway = false;
  t.mock.timers.tick(1000);
  await untilTold();
  assert.equal(commits.length, 5, 'it is made again also where nothing more is sent');
  assert.equal(commits[4], commits[3]);
});

test('closing tries every commit as often as it may be tried, and loses none that the store takes', async () => {
  const { log, add, commits } = open(async () => {
    if (commits.length < 4) throw new DeskbellError('ERR_STORE_UNAVAILABLE', 'It is away.');
  });
  await add(1, 'gone');
  void add(2, 'gone');
  await log.close();
  assert.deepEqual(
    commits.slice(3).map(({ origins }) => origins[0]?.goneSubscriptions),
    [[madeUpSubscription(1)], [madeUpSubscription(2)]],
  );
});

test('closing waits for five seconds at most, whatever a commit waits for', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const stuck = later();
  const { log, add, commits } = open(() => stuck.promise);
  void add(1, 'gone');
  const closed = log.close();
  await untilTold();
  t.mock.timers.tick(5000);
  await closed;
  assert.equal(commits.length, 1);
  stuck.resolve();
});

test('a commit is not made again for longer than the store knows its id', async () => {
  const { log, add, commits } = open(async () => {
    throw new DeskbellError('ERR_STORE_UNAVAILABLE', 'It is away.');
  });
  for (let index = 0; index < 6; index += 1) await add(index, 'gone');
  assert.equal(commits.filter(({ id }) => id === commits[0]!.id).length, 5);
  assert.equal(commits.length, 6);
  await log.close();
});

test('answers that came while a commit failed for good are told though nothing more is sent', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let isAway = true;
  const { log, add, commits } = open(async () => {
    if (isAway) throw new DeskbellError('ERR_STORE_UNAVAILABLE', 'It is away.');
  });
  await add(1, 'gone');
  add(2, 'accepted');
  const tellLater = async () => {
    t.mock.timers.tick(1000);
    await untilTold();
  };
  while (commits.length < 5) await tellLater();
  isAway = false;
  await tellLater();
  assert.equal(commits[5]?.origins[0]?.accepted, 1);
  await log.close();
});

function openGathering(): {
  readonly taken: (readonly number[])[];
  readonly gathering: ReturnType<typeof gatherTurn<number>>;
} {
  const taken: (readonly number[])[] = [];
  return { taken, gathering: gatherTurn<number>((items) => taken.push(items)) };
}

test('what is added in one turn is taken together, in order', async () => {
  const { taken, gathering } = openGathering();
  gathering.add(1);
  await Promise.resolve();
  gathering.add(2);
  assert.deepEqual(taken, []);
  await nextTurn();
  assert.deepEqual(taken, [[1, 2]]);
  gathering.add(3);
  await nextTurn();
  assert.deepEqual(taken, [[1, 2], [3]]);
});

test('at most 64 are taken at once, and others have a turn in between', async () => {
  const { taken, gathering } = openGathering();
  for (let item = 0; item < 130; item += 1) gathering.add(item);
  const sizes: number[][] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    await nextTurn();
    sizes.push(taken.map((items) => items.length));
  }
  assert.deepEqual(sizes.at(-1), [64, 64, 2]);
  assert.ok(sizes[0]!.length < 3, 'not all in one turn');
  assert.deepEqual(
    taken.flat(),
    Array.from({ length: 130 }, (_, item) => item),
  );
});

test('flushing takes all of it at once, and nothing twice', async () => {
  const { taken, gathering } = openGathering();
  for (let item = 0; item < 70; item += 1) gathering.add(item);
  gathering.flush();
  assert.deepEqual(
    taken.map((items) => items.length),
    [64, 6],
  );
  gathering.flush();
  await nextTurn();
  assert.equal(taken.length, 2);
});

test('an item added while others are taken is not lost', async () => {
  const taken: number[] = [];
  const gathering = gatherTurn<number>((items) => {
    taken.push(...items);
    if (items[0]! < 3) gathering.add(items[0]! + 1);
  });
  gathering.add(1);
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  assert.deepEqual(taken, [1, 2, 3]);
});
