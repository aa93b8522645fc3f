// The time of a server as a process knows it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServerClock } from '../../src/store/postgres/database.ts';

/** A server that is asked over a round trip of `roundTripMs`, and answers in its middle. */
function openClock(start: { readonly serverMs: number }) {
  let monotonicMs = 1000;
  const server = { ms: start.serverMs, roundTripMs: 10, asked: 0, isAway: false };
  const pass = (ms: number): void => {
    monotonicMs += ms;
    server.ms += ms;
  };
  const clock = createServerClock({
    monotonicNow: () => monotonicMs,
    readServerTime: async () => {
      server.asked += 1;
      if (server.isAway) throw new Error('away');
      pass(server.roundTripMs / 2);
      const answer = Math.trunc(server.ms);
      pass(server.roundTripMs / 2);
      return answer;
    },
  });
  return { clock, server, pass };
}

const settled = () => new Promise(setImmediate);

test('the time is the server’s, whatever this machine’s is, without asking each time', async () => {
  const { clock, server, pass } = openClock({ serverMs: 5_000_000 });
  await clock.learn();
  assert.equal(clock.now(), server.ms);
  pass(29_000);
  assert.equal(clock.now(), server.ms);
  assert.equal(server.asked, 1);
});

test('it is learnt again now and then, and follows a server whose time was set', async () => {
  const { clock, server, pass } = openClock({ serverMs: 5_000_000 });
  await clock.learn();
  pass(31_000);
  server.ms += 600_000;
  clock.now();
  clock.now();
  await settled();
  assert.equal(server.asked, 2, 'once for all who look');
  assert.equal(clock.now(), server.ms);
});

test('the inexactness of a round trip does not let it leap', async () => {
  const { clock, server, pass } = openClock({ serverMs: 5_000_000 });
  await clock.learn();
  pass(31_000);
  server.roundTripMs = 400;
  // the way back took longer than the way there
  server.ms += 150;
  const before = clock.now();
  await settled();
  assert.equal(clock.now() - before, 400);
});

test('a server that is away is asked again, and the time goes on', async () => {
  const { clock, server, pass } = openClock({ serverMs: 5_000_000 });
  await clock.learn();
  server.isAway = true;
  pass(40_000);
  assert.equal(clock.now(), server.ms);
  await settled();
  pass(31_000);
  server.isAway = false;
  server.ms += 10_000;
  clock.now();
  await settled();
  assert.equal(clock.now(), server.ms);
});
