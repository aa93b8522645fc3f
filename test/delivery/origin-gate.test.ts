import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OriginGate } from '../../src/delivery/origin-gate.ts';

const refusal = { reason: 'vapid-refused', detail: 'BadJwtToken' } as const;

const refused = { kind: 'rejected', scope: 'origin', isAlarm: true, ...refusal } as const;

test('a push service that refuses one row after the other is stopped for the broadcast, with its reason', () => {
  const gate = new OriginGate();
  for (let index = 0; index < 19; index += 1) gate.recordOutcome(1, refused);
  assert.equal(gate.admit(1, 0), undefined);
  gate.recordOutcome(1, refused);
  assert.deepEqual(gate.admit(1, 0), { kind: 'refused', refusal });
  assert.equal(gate.admit(2, 0), undefined, 'another broadcast asks again');
});

test('single refusals among acceptances stop nothing', () => {
  const gate = new OriginGate();
  for (let index = 0; index < 1000; index += 1) {
    gate.recordOutcome(1, refused);
    if (index % 10 === 9) gate.recordOutcome(1, { kind: 'accepted' });
  }
  assert.equal(gate.admit(1, 0), undefined);
});

test('messages are deferred while the transport says so', () => {
  const gate = new OriginGate();
  gate.deferUntil(5000, 'busy');
  gate.deferUntil(3000, 'busy');
  assert.deepEqual(gate.admit(1, 1000), { kind: 'deferred', afterMs: 4000, detail: 'busy' });
  assert.equal(gate.admit(1, 5000), undefined);
});

test('many rows without an answer for long make a push service slow, until most of them are settled', () => {
  const gate = new OriginGate();
  const rows = Array.from({ length: 256 }, () => ({}));
  for (const row of rows) gate.addDetached(row, 1000);
  gate.recordAnswer(1900);
  assert.equal(gate.admit(1, 1999), undefined, 'a moment is not long');
  assert.equal(gate.admit(1, 2000)?.kind, 'deferred');
  for (const row of rows.slice(0, 128)) gate.removeDetached(row);
  assert.equal(gate.admit(1, 2000)?.kind, 'deferred');
  for (const row of rows.slice(128, 129)) gate.removeDetached(row);
  assert.equal(gate.admit(1, 2000), undefined);
});

test('a few rows that hang do not make a push service slow as long as it answers others', () => {
  const gate = new OriginGate();
  for (let index = 0; index < 255; index += 1) gate.addDetached({}, 0);
  gate.recordAnswer(1e9);
  assert.equal(gate.admit(1, 1e9 + 999), undefined);
  assert.equal(gate.admit(1, 1e9 + 1000)?.kind, 'deferred', 'it has fallen silent');
  gate.recordAnswer(1e9 + 1000);
  assert.equal(gate.admit(1, 1e9 + 1000), undefined);
});

test('a push service is not called silent while nothing of it is out', () => {
  const gate = new OriginGate();
  assert.equal(gate.admit(1, 1e9), undefined);
  const row = {};
  gate.addDetached(row, 1e9);
  assert.equal(gate.admit(1, 1e9 + 1000)?.kind, 'deferred');
  gate.removeDetached(row);
  assert.equal(gate.admit(1, 1e9 + 1000), undefined);
});

test('a push service has room for so many detached rows, and for all of them once it is known to be slow', () => {
  const gate = new OriginGate();
  for (let index = 0; index < 256; index += 1) {
    assert.equal(gate.mayDetach(0, true), true);
    assert.equal(gate.mayDetach(0, false), false);
    gate.addDetached({}, 0);
  }
  assert.equal(gate.mayDetach(999, true), false);
  assert.equal(gate.mayDetach(1000, false), true);
});
