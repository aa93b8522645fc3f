import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { OriginGate } from '../../src/delivery/limits/origin-gate.ts';
import { defaultWorkerSettings } from '../../src/delivery/settings/worker-settings.ts';

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
  const deferral = { waitMs: 4000, reason: 'busy', obstacle: undefined };
  const deferred = { kind: 'deferred', afterMs: 4000, detail: 'busy', obstacle: undefined };
  assert.deepEqual(gate.admit(false, deferral), deferred);
  assert.equal(gate.admit(false, undefined), undefined);
});
