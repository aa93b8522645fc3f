// Kills the sending process with -9 at random moments, starts it again each time, and counts at the push service who
// got the message how often: nobody may be left out, and a kill may repeat at most one page per worker. Broadcasts
// follow one another until there were enough kills; the last one is left to finish.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startNginxSink, type NginxSink } from '../bench/broadcast/nginx-sink.ts';
import { numberOfPath, seedSubscriptions } from '../bench/broadcast/seed.ts';
import { maxUncommittedRows } from '../src/delivery/settings/settings.ts';
import { scaled } from './scale.ts';

const kills = scaled(50);
const rows = scaled(100_000);
const threads = 2;
const longestLifeMs = 2500;

interface Summary {
  readonly state: string;
  readonly recipients: number;
  readonly counts: Readonly<Record<string, number>>;
}

test(`${kills} kills leave nobody out of a broadcast to ${rows}`, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'deskbell-kill-'));
  t.after(() => rm(directory, { recursive: true }));
  const sink = await startNginxSink();
  t.after(() => sink.remove());
  await seedSubscriptions(directory, sink.origin, rows);
  const killsOf = new Map<string, number>();
  for (let killed = 0, broadcast = 1; killed < kills; broadcast += 1) {
    const key = `broadcast-${broadcast}`;
    let killsHere = 0;
    for (;;) {
      const lifeMs = killed < kills ? Math.random() * longestLifeMs : Number.POSITIVE_INFINITY;
      const summary = await send({ directory, sink, key, lifeMs });
      if (summary !== undefined) {
        assertAddsUp(summary);
        break;
      }
      killed += 1;
      killsHere += 1;
    }
    killsOf.set(key, killsHere);
    t.diagnostic(`${key}: ${killsHere} kills, counts add up to ${rows}`);
  }
  for (const line of await checkReceived(sink, killsOf)) t.diagnostic(line);
});

interface Sending {
  readonly directory: string;
  readonly sink: NginxSink;
  /** Idempotency key and topic of the broadcast. */
  readonly key: string;
  /** When the process is killed, counted from its first line of output. */
  readonly lifeMs: number;
}

/** @returns the summary, or `undefined` where the process was killed before it had one */
async function send({ directory, sink, key, lifeMs }: Sending): Promise<Summary | undefined> {
  const flags = {
    title: 'Ding dong',
    message: 'Tea is ready',
    topic: key,
    'idempotency-key': key,
    data: directory,
    'push-services': sink.origin,
    ca: sink.caFile,
    threads: String(threads),
    subject: 'mailto:push@example.org',
  };
  const words = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
  const main = join(import.meta.dirname, '../src/cli/main.cts');
  const child = spawn(process.execPath, [main, 'send', '--all', '--json', ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  let summary: Summary | undefined;
  let hasBegun = false;
  const reading = (async () => {
    for await (const line of createInterface({ input: child.stdout })) {
      const event = JSON.parse(line) as { readonly event: string } & Summary;
      if (event.event === 'summary') summary = event;
      if (hasBegun || lifeMs === Number.POSITIVE_INFINITY) continue;
      hasBegun = true;
      void sleep(lifeMs, undefined, { ref: false }).then(() => child.kill('SIGKILL'));
    }
  })();
  const [code] = (await exited) as [number | null];
  await reading;
  if (code !== null) assert.equal(code, 0, 'the command ends well');
  return summary;
}

function assertAddsUp({ state, recipients, counts }: Summary): void {
  assert.equal(state, 'done');
  assert.equal(recipients, rows);
  assert.equal(counts['accepted'], rows);
  assert.equal(
    Object.values(counts).reduce((sum, count) => sum + count, 0),
    rows,
  );
}

/** @returns what was lost and repeated, a line for each broadcast */
async function checkReceived(from: NginxSink, killsOf: ReadonlyMap<string, number>): Promise<string[]> {
  const received = new Map([...killsOf.keys()].map((key) => [key, new Uint16Array(rows)]));
  for await (const { path, topic } of from.readLog()) {
    const times = received.get(topic);
    assert.ok(times, `nobody sent with the topic ${topic}`);
    times[numberOfPath(path)] = (times[numberOfPath(path)] ?? 0) + 1;
  }
  return Array.from(received, ([key, times]) => {
    const lost = times.filter((count) => count === 0).length;
    const repeated = times.reduce((sum, count) => sum + Math.max(0, count - 1), 0);
    const bound = (killsOf.get(key) ?? 0) * threads * maxUncommittedRows;
    const line = `${key}: ${lost} lost, ${repeated} repeated; at most ${bound} may be`;
    assert.equal(lost, 0, line);
    assert.ok(repeated <= bound, line);
    return line;
  });
}
