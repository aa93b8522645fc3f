// What a worker does with the rows of one push service that wait, have no answer or are refused; the clock is a parameter.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { OriginGate } from '../../src/delivery/limits/origin-gate.ts';
import { type LoadRow, OriginLoad } from '../../src/delivery/limits/origin-load.ts';
import { defaultWorkerSettings } from '../../src/delivery/settings/settings.ts';

const { patienceMs, silentAfterMs, minAsideMs, heldMs } = defaultWorkerSettings;
const startMs = 1_000_000;
const perMs = 1;

const rowAt = (takenAtMs: number, isReturning = false): LoadRow & { sending?: { writtenAtMs: number } } => ({
  takenAtMs,
  isReturning,
});
const sent = (load: OriginLoad, writtenAtMs: number): LoadRow => {
  const row = rowAt(writtenAtMs);
  row.sending = { writtenAtMs };
  load.recordSent(row, writtenAtMs);
  return row;
};

test('rows that come back are sent before those of slices, and each in its order', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  const rows = [rowAt(1), rowAt(2, true), rowAt(3), rowAt(4, true)];
  for (const row of rows) assert.equal(load.add(row, perMs, startMs), undefined);
  assert.deepEqual(
    rows.map(() => load.shift()?.takenAtMs),
    [2, 4, 1, 3],
  );
});

test('a row that has waited for long, by round trips, makes a backlog until nothing waits', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  load.recordResult(sent(load, startMs), startMs + 300, 300);
  load.add(rowAt(startMs), perMs, startMs);
  const longMs = patienceMs + 4 * 300;
  assert.equal(load.isBacklogged(perMs, startMs + longMs - 1, true), false);
  assert.equal(load.isBacklogged(perMs, startMs + longMs, false), true);
  load.add(rowAt(startMs + longMs), perMs, startMs + longMs);
  assert.ok(load.takeBacklog(startMs + longMs));
  assert.equal(load.isBacklogged(perMs, startMs + longMs, false), true);
  assert.ok(load.takeBacklog(startMs + longMs));
  assert.equal(load.isBacklogged(perMs, startMs + longMs, false), false);
});

test('a row is late after one and a half round trips, and not before its pace asks for it', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  load.recordResult(sent(load, startMs), startMs + 400, 400);
  const row = sent(load, startMs);
  assert.equal(load.isLate(row, startMs + 599, 100), false);
  assert.equal(load.isLate(row, startMs + 600, 100), true);
  assert.equal(load.isLate(row, startMs + 600, 1000), false);
});

test('a push service that answers nothing has a backlog only where others wait behind it', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  sent(load, startMs);
  assert.equal(load.isBacklogged(perMs, startMs + minAsideMs - 1, true), false);
  assert.equal(load.isBacklogged(perMs, startMs + minAsideMs, false), false);
  assert.equal(load.isBacklogged(perMs, startMs + minAsideMs, true), true);
});

test('a push service is silent if nothing could be written to it for long, too', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  const row = rowAt(startMs - 1e6);
  row.sending = { writtenAtMs: 0 };
  load.recordSent(row, startMs);
  assert.equal(load.defer(startMs + silentAfterMs - 1), undefined);
  assert.equal(load.defer(startMs + silentAfterMs)?.kind, 'deferred');
  row.sending = { writtenAtMs: startMs + silentAfterMs };
  assert.equal(load.defer(startMs + silentAfterMs), undefined);
});

test('rows are put aside in their order, those that come back before those of slices, at twice the pace', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  const asideMs = (isReturning: boolean): number => {
    const notNow = load.putAside(rowAt(0, isReturning), perMs, startMs);
    assert.equal(notNow.kind, 'waits');
    return 'afterMs' in notNow ? notNow.afterMs - minAsideMs : Number.NaN;
  };
  assert.deepEqual([asideMs(false), asideMs(false), asideMs(false), asideMs(false)], [1, 1, 2, 2]);
  assert.deepEqual([asideMs(true), asideMs(true)], [1, 1]);
  assert.equal(asideMs(false), 3);
});

test('of the rows that come back, what is sent in a second may wait here', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  for (let row = 0; row < perMs * patienceMs; row += 1)
    assert.equal(load.add(rowAt(0, true), perMs, startMs), undefined);
  assert.equal(load.add(rowAt(0, true), perMs, startMs)?.kind, 'waits');
});

test('a push service is silent that has answered nothing for long, not one that is far or has nothing to answer', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  assert.equal(load.defer(startMs), undefined);
  const first = sent(load, startMs);
  assert.equal(load.defer(startMs + silentAfterMs - 1), undefined);
  assert.equal(load.defer(startMs + silentAfterMs)?.kind, 'deferred');
  assert.equal(load.putAside(rowAt(0), perMs, startMs + silentAfterMs).kind, 'deferred');
  load.recordResult(first, startMs + 5000, 5000);
  assert.equal(load.defer(startMs + 1e9), undefined);
  sent(load, startMs + 10_000);
  assert.equal(load.defer(startMs + 10_000 + 4 * 5000 - 1), undefined, 'it takes five seconds');
  assert.equal(load.defer(startMs + 10_000 + 4 * 5000)?.kind, 'deferred');
});

test('where nothing can be sent, a few rows come back soon as probes, and the others later, in their order', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  const waitMs = 5000;
  const held = Array.from({ length: 8 }, () => load.hold(waitMs, startMs));
  assert.deepEqual(held.slice(0, 4), [waitMs, waitMs, waitMs, waitMs]);
  assert.deepEqual(
    held.slice(4),
    held.slice(4).toSorted((one, other) => one - other),
  );
  assert.ok(held[4]! > heldMs);
  assert.equal(load.hold(0, startMs + waitMs), minAsideMs, 'the probes were in vain');
  const hourMs = 3_600_000;
  for (let probe = 1; probe < 4; probe += 1) load.hold(0, startMs + waitMs);
  assert.ok(load.hold(hourMs, startMs + waitMs) > hourMs, 'none comes back before there can be an answer');
});

test('what was put aside may come back before its time once there is an answer, as much as is sent in a second', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  const row = sent(load, startMs);
  assert.equal(load.asideMs(startMs), 0);
  for (let count = 0; count < 8; count += 1) load.hold(1000, startMs);
  assert.equal(load.wanted(perMs, startMs), 0, 'nothing can be sent');
  assert.equal(load.wanted(perMs, startMs + 2000), 64, 'a probe is missing');
  assert.ok(load.asideMs(startMs) > heldMs);
  load.recordResult(row, startMs + 300, 300);
  assert.equal(load.wanted(perMs, startMs), perMs * patienceMs);
  const next = sent(load, startMs + 400);
  assert.equal(load.wanted(perMs, startMs + 400 + silentAfterMs), 0, 'it is silent');
  load.recordResult(next, startMs + 400 + silentAfterMs, silentAfterMs);
  load.add(rowAt(startMs), perMs, startMs);
  assert.equal(load.wanted(perMs, startMs), 0, 'others wait already');
  load.endAside();
  assert.equal(load.asideMs(startMs), 0);
  load.expectAside(startMs);
  assert.ok(load.asideMs(startMs) > 10 * heldMs, 'another worker may have held any number');
  assert.ok(load.hold(0, startMs) <= heldMs, 'which says nothing of those that are held here');
});

test('where memory fills up, a push service whose rows take long has a backlog at once', () => {
  const load = new OriginLoad(defaultWorkerSettings);
  for (let row = 0; row <= perMs * minAsideMs; row += 1) load.add(rowAt(startMs), perMs, startMs);
  assert.equal(load.isBacklogged(perMs, startMs, true), false, 'nothing is known of it');
  load.recordResult(sent(load, startMs - 100), startMs, 100);
  assert.equal(load.isBacklogged(perMs, startMs, false), false);
  assert.equal(load.isBacklogged(2 * perMs, startMs, true), false, 'they do not take long');
  assert.equal(load.isBacklogged(perMs, startMs, true), true);
});

const key = { origin: 'https://fcm.googleapis.com', vapidPublicKey: 'key' };
const refused = {
  kind: 'rejected',
  reason: 'vapid-refused',
  scope: 'origin',
  isAlarm: true,
  detail: 'BadJwtToken',
} as const;
const refuse = (gate: OriginGate, times: number): void => {
  for (let index = 0; index < times; index += 1) gate.recordOutcome(refused, undefined, 'suspend');
};

describe('a push service that refuses our token', () => {
  test('is held after twenty refusals in a row, but for probes', () => {
    const gate = new OriginGate(defaultWorkerSettings);
    refuse(gate, 19);
    assert.equal(gate.admit(false, undefined), undefined);
    refuse(gate, 1);
    assert.deepEqual(gate.admit(false, undefined), { kind: 'suspended' });
    assert.equal(gate.admit(true, undefined), undefined);
  });

  test('is open again with the first acceptance', () => {
    const gate = new OriginGate(defaultWorkerSettings);
    refuse(gate, 20);
    gate.recordOutcome({ kind: 'accepted' }, 7, 'suspend');
    assert.equal(gate.admit(false, undefined), undefined);
    refuse(gate, 19);
    assert.equal(gate.admit(false, undefined), undefined);
  });

  test('is held as long as the store says so, which knows the answers to all workers', () => {
    const gate = new OriginGate(defaultWorkerSettings);
    gate.setState({ ...key, isSuspended: true, refusalsToSuspend: 20, hasAccepted: false, waitMs: 0 });
    assert.deepEqual(gate.admit(false, undefined), { kind: 'suspended' });
    gate.setState(undefined);
    assert.equal(gate.admit(false, undefined), undefined);
  });

  test('is held until the store has judged what it was told', () => {
    const gate = new OriginGate(defaultWorkerSettings);
    refuse(gate, 20);
    assert.deepEqual(gate.takeAnswers(), {
      accepted: 0,
      hasRefused: true,
      refusalsInRow: 20,
      acceptedSubscriptionId: undefined,
    });
    assert.equal(gate.takeAnswers(), undefined, 'each answer is told once');
    assert.deepEqual(gate.admit(false, undefined), { kind: 'suspended' });
    refuse(gate, 20);
    gate.setState(undefined);
    assert.deepEqual(
      gate.admit(false, undefined),
      { kind: 'suspended' },
      'the store has not heard of the last ones',
    );
  });

  test('takes more refusals to be held where a hold was wrong before', () => {
    const gate = new OriginGate(defaultWorkerSettings);
    gate.setState({ ...key, isSuspended: false, refusalsToSuspend: 40, hasAccepted: false, waitMs: 0 });
    refuse(gate, 39);
    assert.equal(gate.admit(false, undefined), undefined);
    refuse(gate, 1);
    assert.deepEqual(gate.admit(false, undefined), { kind: 'suspended' });
  });

  test('is not held for what is wrong with single messages or addresses', () => {
    const gate = new OriginGate(defaultWorkerSettings);
    for (const reason of ['vapid-key-mismatch', 'bad-request', 'address-blocked'] as const) {
      const scope = reason === 'address-blocked' ? 'origin' : 'message';
      for (let index = 0; index < 100; index += 1) {
        gate.recordOutcome({ kind: 'rejected', reason, scope, isAlarm: true }, undefined, 'suspend');
      }
    }
    gate.recordOutcome({ kind: 'gone' }, undefined, 'suspend');
    assert.equal(gate.takeAnswers(), undefined);
    assert.equal(gate.admit(false, undefined), undefined);
  });

  test('tells the store what it accepted since the last time, with one of the subscriptions', () => {
    const gate = new OriginGate(defaultWorkerSettings);
    refuse(gate, 3);
    gate.recordOutcome({ kind: 'accepted' }, 7, 'suspend');
    gate.recordOutcome({ kind: 'accepted' }, undefined, 'retry');
    refuse(gate, 2);
    assert.deepEqual(gate.takeAnswers(), {
      accepted: 2,
      hasRefused: true,
      refusalsInRow: 2,
      acceptedSubscriptionId: 7,
    });
  });

  test('is not held for rows that it refuses while it accepts others', () => {
    const gate = new OriginGate(defaultWorkerSettings);
    for (let index = 0; index < 100; index += 1) gate.recordOutcome(refused, index, 'retry');
    assert.equal(gate.takeAnswers(), undefined);
    gate.recordOutcome(refused, 7, 'reject');
    assert.deepEqual(gate.takeAnswers(), {
      accepted: 0,
      hasRefused: false,
      refusalsInRow: 0,
      acceptedSubscriptionId: undefined,
      rejectedSubscriptionIds: [7],
    });
    assert.equal(gate.admit(false, undefined), undefined);
  });
});

test('messages are deferred while the transport says so', () => {
  const gate = new OriginGate(defaultWorkerSettings);
  const deferral = { kind: 'deferred', afterMs: 4000, detail: 'busy' } as const;
  assert.equal(gate.admit(false, deferral), deferral);
  assert.equal(gate.admit(false, undefined), undefined);
});
