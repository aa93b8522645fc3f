// Kills the sending process with -9 at random moments, starts it again each time, and counts at the push service who
// got the message how often: nobody may be left out, and a kill may repeat at most one page per worker.
//
//   node scripts/broadcast-kill.ts [--kills 50] [--rows 100000] [--threads 2]
//
// Needs nginx. Broadcasts follow one another until there were enough kills; the last one is left to finish.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startNginxSink, type NginxSink } from '../bench/broadcast/nginx-sink.ts';
import { numberOfPath, seedSubscriptions } from '../bench/broadcast/seed.ts';
import { pageRows } from '../src/delivery/worker.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '50' },
    rows: { type: 'string', default: '100000' },
    threads: { type: 'string', default: '2' },
  },
});
const [kills, rows, threads] = [Number(values.kills), Number(values.rows), Number(values.threads)];
const longestLifeMs = 2500;

interface Summary {
  readonly state: string;
  readonly audience: number;
  readonly counts: Readonly<Record<string, number>>;
}

const directory = await mkdtemp(join(tmpdir(), 'deskbell-kill-'));
const sink = await startNginxSink();
try {
  console.log(`${rows} subscribers, ${threads} threads, ${kills} kills`);
  await seedSubscriptions(directory, sink.origin, rows);
  const killsOf = new Map<string, number>();
  for (let killed = 0, broadcast = 1; killed < kills; broadcast += 1) {
    const key = `broadcast-${broadcast}`;
    let killsHere = 0;
    for (;;) {
      const lifeMs = killed < kills ? Math.random() * longestLifeMs : Number.POSITIVE_INFINITY;
      const summary = await send(key, lifeMs);
      if (summary === undefined) {
        killed += 1;
        killsHere += 1;
        continue;
      }
      assertAddsUp(summary);
      break;
    }
    killsOf.set(key, killsHere);
    console.log(`${key}: ${killsHere} kills, counts add up to ${rows}`);
  }
  await checkReceived(sink, killsOf);
} finally {
  await sink.remove();
  await rm(directory, { recursive: true });
}

/** @returns the summary, or `undefined` where the process was killed before it had one */
async function send(key: string, lifeMs: number): Promise<Summary | undefined> {
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
  const main = join(import.meta.dirname, '../src/cli/main.ts');
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
      // from its first word on, at any moment
      void sleep(lifeMs, undefined, { ref: false }).then(() => child.kill('SIGKILL'));
    }
  })();
  const [code] = (await exited) as [number | null];
  await reading;
  if (code !== null) assert.equal(code, 0, 'the command ends well');
  return summary;
}

function assertAddsUp({ state, audience, counts }: Summary): void {
  assert.equal(state, 'done');
  assert.equal(audience, rows);
  assert.equal(counts['accepted'], rows);
  assert.equal(
    Object.values(counts).reduce((sum, count) => sum + count, 0),
    rows,
  );
}

async function checkReceived(from: NginxSink, killsOf: ReadonlyMap<string, number>): Promise<void> {
  const received = new Map([...killsOf.keys()].map((key) => [key, new Uint16Array(rows)]));
  for await (const { path, topic } of from.readLog()) {
    const times = received.get(topic);
    assert.ok(times, `nobody sent with the topic ${topic}`);
    times[numberOfPath(path)] = (times[numberOfPath(path)] ?? 0) + 1;
  }
  let repeats = 0;
  for (const [key, times] of received) {
    const lost = times.filter((count) => count === 0).length;
    const repeated = times.reduce((sum, count) => sum + Math.max(0, count - 1), 0);
    const bound = (killsOf.get(key) ?? 0) * threads * pageRows;
    console.log(`${key}: ${lost} lost, ${repeated} repeated; allowed are ${bound}`);
    assert.equal(lost, 0);
    assert.ok(repeated <= bound);
    repeats += repeated;
  }
  const perKill = (repeats / kills).toFixed(0);
  console.log(
    `0 lost; ${repeats} repeats over ${kills} kills: ${perKill} per kill, at most ${threads * pageRows} allowed`,
  );
}
