// Whether and how much may be sent to an origin, by what came of requests; the clock is a parameter.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import { type PushResponse, readResponse } from '../../src/protocol/outcome.ts';
import { Admission } from '../../src/transport/admission.ts';
import { latencyFloor } from '../../src/transport/pacing.ts';
import type { Answer } from '../../src/transport/transport.ts';

const minuteMs = 60_000;
/** Any request; the probe, where there is one. */
const one = {};

function open(): { admission: Admission; clock: { ms: number } } {
  const clock = { ms: 5_000_000 };
  const settings = { monotonicNow: () => clock.ms, hasBreaker: true };
  const admission = new Admission(new URL('https://push.example.org'), settings);
  return { admission, clock };
}

const httpFault = (): DeskbellError => new DeskbellError('ERR_PROTOCOL', 'It broke HTTP/2.');
const read = (response: PushResponse, nowMs = 0): Answer => ({
  kind: 'response',
  response,
  outcome: readResponse('https://push.example.org', response, { nowMs }),
});
const created = { status: 201, headers: {}, body: '' };

/** What every request of one lost connection reports. */
function loseConnection(admission: Admission, requests: number): boolean {
  const error = httpFault();
  let isStopped = false;
  for (let request = 0; request < requests; request += 1)
    isStopped = admission.recordFailure(one, error) || isStopped;
  return admission.recordHttpFault(error) || isStopped;
}

test('two connections lost to HTTP faults are tolerated, the third stops the origin and calls it incompatible', () => {
  const { admission, clock } = open();
  assert.equal(loseConnection(admission, 3), false);
  admission.recordAnswer(one, read(created), 5);
  assert.equal(loseConnection(admission, 3), false);
  admission.recordAnswer(one, read(created), 5);
  assert.equal(admission.admit(one), undefined);
  assert.equal(loseConnection(admission, 3), true);
  assert.deepEqual(admission.admit(one), {
    kind: 'deferred',
    afterMs: minuteMs,
    detail: 'It broke HTTP/2.',
    obstacle: 'protocol-error',
  });
  clock.ms += minuteMs;
  assert.equal(admission.admit(one), undefined);
});

test('answers between the faults do not shorten the pauses: each is twice as long, up to an hour', () => {
  const { admission, clock } = open();
  const pauses: number[] = [];
  for (let round = 0; round < 11; round += 1) {
    for (let answer = 0; answer < 100; answer += 1) admission.recordAnswer(one, read(created), 5);
    loseConnection(admission, 50);
    const waitMs = admission.admit(one)?.afterMs ?? 0;
    pauses.push(waitMs / minuteMs);
    clock.ms += waitMs;
    assert.equal(admission.admit(one), undefined, 'one request probes it');
    admission.recordAnswer(one, read(created), 5);
  }
  // The first two only open the breaker for a second, since 50 requests failed.
  assert.deepEqual(pauses.slice(2), [1, 2, 4, 8, 16, 32, 60, 60, 60]);
});

test('a fault after 10,000 answers, or after two hours, begins anew', () => {
  for (const pass of [
    ({ admission }: ReturnType<typeof open>): void => {
      for (let answer = 0; answer < 10_000; answer += 1) admission.recordAnswer(one, read(created), 5);
    },
    ({ clock }: ReturnType<typeof open>): void => void (clock.ms += 120 * minuteMs),
  ]) {
    const opened = open();
    for (let count = 0; count < 20; count += 1) {
      assert.equal(loseConnection(opened.admission, 1), false);
      opened.admission.recordAnswer(one, read(created), 5);
      pass(opened);
    }
    assert.equal(opened.admission.admit(one), undefined);
  }
});

test('other failures stop the origin without calling it incompatible', () => {
  const { admission } = open();
  for (let failure = 0; failure < 10; failure += 1) {
    const lost = new DeskbellError('ERR_CONNECTION', 'It ended the connection.');
    for (let request = 0; request < 100; request += 1) {
      assert.equal(admission.admit(one), undefined, 'a connection that is lost is one failure');
      assert.equal(admission.recordFailure(one, lost), failure === 9 && request === 0);
      if (failure === 9) break;
    }
  }
  assert.deepEqual(admission.admit(one), {
    kind: 'deferred',
    afterMs: 1000,
    detail: 'It ended the connection.',
    obstacle: undefined,
  });
});

test('a push service is unreachable after tries that have failed for fifteen seconds, until it answers', () => {
  const { admission, clock } = open();
  const lost = new DeskbellError('ERR_CONNECTION', 'It cannot be reached.');
  admission.recordConnectFailure(lost);
  clock.ms += minuteMs;
  assert.equal(admission.snapshot().unreachableMs, undefined, 'one failure says nothing');
  admission.recordAnswer(one, read(created), 1);
  admission.recordConnectFailure(lost);
  clock.ms += 14_999;
  admission.recordConnectFailure(lost);
  assert.equal(admission.snapshot().unreachableMs, undefined);
  clock.ms += 1;
  admission.recordConnectFailure(lost);
  assert.equal(admission.snapshot().unreachableMs, 15_000);
  admission.recordAnswer(one, read({ ...created, status: 500 }), 1);
  assert.equal(admission.snapshot().unreachableMs, undefined, 'whatever it answers');
});

const busy = (status: number) => read({ status, headers: { 'retry-after': '60' }, body: '' });

test('a 503 that asks to wait is obeyed at once, unless a request that was written later is accepted', () => {
  const { admission, clock } = open();
  assert.ok(admission.free(0) > 0);
  clock.ms += 100;
  admission.recordAnswer(one, busy(503), 50);
  assert.equal(admission.free(0), 0);
  admission.recordAnswer(one, read(created), 60);
  assert.equal(admission.free(0), 0, 'written before');
  admission.recordAnswer(one, read(created), 40);
  assert.ok(admission.free(0) > 0, 'written later');
  assert.equal(admission.endHold(), false);
  admission.recordAnswer(one, busy(503), 50);
  assert.equal(admission.endHold(), true);
  assert.equal(admission.admit(one)?.afterMs, 60_000);
});

test('a 429 that asks to wait concerns its subscription, and all of them when the next answer is another one', () => {
  const { admission, clock } = open();
  clock.ms += 100;
  for (let answer = 0; answer < 3; answer += 1) {
    admission.recordAnswer(one, busy(429), 50);
    assert.ok(admission.free(0) > 0);
    admission.recordAnswer(one, read(created), 50);
  }
  admission.recordAnswer(one, busy(429), 50);
  admission.recordAnswer(one, busy(429), 50);
  assert.equal(admission.free(0), 0);
});

test('a 429 that asks to wait says something of the rate only as the second in a row, one that does not always', () => {
  const limitAfter = (refusal: Answer, inRow: number): number => {
    const { admission, clock } = open();
    for (let answers = 0; answers < 60; answers += inRow + 1) {
      clock.ms += 50;
      admission.recordAnswer(one, read(created), 50);
      for (let answer = 0; answer < inRow; answer += 1) admission.recordAnswer(one, refusal, 50);
    }
    return admission.snapshot().maxInFlight;
  };
  assert.equal(limitAfter(busy(429), 1), latencyFloor);
  assert.ok(limitAfter(busy(429), 2) < latencyFloor);
  assert.ok(limitAfter(read({ status: 429, headers: {}, body: '' }), 1) < latencyFloor);
});

const connectionLost = () => new DeskbellError('ERR_CONNECTION', 'The connection was lost.');

test('one error that ends the probe and requests before it ends the wait for the probe too', () => {
  const { admission, clock } = open();
  const [earlier, probe, next] = [{}, {}, {}];
  admission.admit(earlier);
  for (let run = 0; run < 10; run += 1) admission.recordFailure({}, connectionLost());
  clock.ms += minuteMs;
  assert.equal(admission.admit(probe), undefined);
  assert.equal(admission.admit(next)?.kind, 'deferred');
  const error = connectionLost();
  admission.recordFailure(earlier, error);
  admission.recordFailure(probe, error);
  clock.ms += minuteMs;
  assert.equal(admission.admit(next), undefined);
});
