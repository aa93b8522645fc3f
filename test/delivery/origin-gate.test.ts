import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OriginGate } from '../../src/delivery/origin-gate.ts';

const refusal = { reason: 'vapid-refused', detail: 'BadJwtToken' };

test('a push service that refuses one row after the other is stopped, with its reason', () => {
  const gate = new OriginGate();
  for (let index = 0; index < 19; index += 1) gate.refused(refusal);
  assert.deepEqual(gate.verdict(0), { kind: 'pass' });
  gate.refused(refusal);
  assert.deepEqual(gate.verdict(0), { kind: 'stopped', refusal });
});

test('single refusals among acceptances stop nothing', () => {
  const gate = new OriginGate();
  for (let index = 0; index < 1000; index += 1) {
    gate.refused(refusal);
    if (index % 10 === 9) gate.accepted();
  }
  assert.deepEqual(gate.verdict(0), { kind: 'pass' });
});

test('rows are put off while the transport says so', () => {
  const gate = new OriginGate();
  gate.wait(5000);
  gate.wait(3000);
  assert.deepEqual(gate.verdict(1000), { kind: 'putOff', afterMs: 4000 });
  assert.deepEqual(gate.verdict(5000), { kind: 'pass' });
});

test('many rows without an answer for long make a push service slow, until most of them are settled', () => {
  const gate = new OriginGate();
  const rows = Array.from({ length: 256 }, () => ({}));
  for (const row of rows) gate.park(row, 1000);
  gate.answered(1900);
  assert.deepEqual(gate.verdict(1999), { kind: 'pass' }, 'a moment is not long');
  assert.equal(gate.verdict(2000).kind, 'putOff');
  for (const row of rows.slice(0, 128)) gate.unpark(row);
  assert.equal(gate.verdict(2000).kind, 'putOff');
  for (const row of rows.slice(128, 129)) gate.unpark(row);
  assert.deepEqual(gate.verdict(2000), { kind: 'pass' });
});

test('a few rows that hang do not make a push service slow as long as it answers others', () => {
  const gate = new OriginGate();
  for (let index = 0; index < 255; index += 1) gate.park({}, 0);
  gate.answered(1e9);
  assert.deepEqual(gate.verdict(1e9 + 999), { kind: 'pass' });
  assert.equal(gate.verdict(1e9 + 1000).kind, 'putOff', 'it has fallen silent');
  gate.answered(1e9 + 1000);
  assert.deepEqual(gate.verdict(1e9 + 1000), { kind: 'pass' });
});

test('a push service is not called silent while nothing of it is out', () => {
  const gate = new OriginGate();
  assert.deepEqual(gate.verdict(1e9), { kind: 'pass' });
  const row = {};
  gate.park(row, 1e9);
  assert.equal(gate.verdict(1e9 + 1000).kind, 'putOff');
  gate.unpark(row);
  assert.deepEqual(gate.verdict(1e9 + 1000), { kind: 'pass' });
});

test('a push service has room for so many parked rows, and for all of them once it is known to be slow', () => {
  const gate = new OriginGate();
  for (let index = 0; index < 256; index += 1) {
    assert.equal(gate.mayPark(0, true), true);
    assert.equal(gate.mayPark(0, false), false);
    gate.park({}, 0);
  }
  assert.equal(gate.mayPark(999, true), false);
  assert.equal(gate.mayPark(1000, false), true);
});
