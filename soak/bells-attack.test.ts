// Strangers and accidents against a real `deskbell serve` with bells: kills between store and answer, a full disk, bodies that are slow, large,
// compressed or broken, and floods. What was answered with 200 is stored, and no secret is printed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { readMessage } from '../src/protocol/message/read-message.ts';
import { openSqliteStore } from '../src/store/sqlite/open-store.ts';
import { runCommand, spawnUntilStopped } from '../test/cli/run-command.ts';
import { scaled } from './scale.ts';

const timeout = 600_000;

async function startBells(folder: string, flags: readonly string[] = []) {
  const environment = { DESKBELL_DATA: join(folder, 'data'), DESKBELL_SUBJECT: 'mailto:you@example.org' };
  const start = async () => {
    const words = ['serve', '--port', '0', '--bells', '127.0.0.1:0', ...flags];
    const service = spawnUntilStopped(words, { environment });
    const [, base = ''] = await service.waitFor(/Bells are at (http:\S+)/);
    return { ...service, base };
  };
  const service = await start();
  const added = await runCommand(['bells', 'add', 'alerts', '--all', '--json'], { environment });
  const secret = (JSON.parse(added.stdout) as { url: string }).url.split('/').at(-1)!;
  const shown = async () => {
    const store = await openSqliteStore({ path: join(folder, 'data/deskbell.db') });
    const broadcasts = await store.broadcasts.list({ limit: 100_000 });
    await store.close();
    return new Set(broadcasts.map(({ payload }) => readMessage(payload)!.message));
  };
  return { service, start, secret, shown };
}

async function temporary(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-attack-'));
  t.after(async () => {
    // a disk of its own, if the test has one
    spawnSync('umount', ['-l', folder]);
    await rm(folder, { recursive: true, force: true });
  });
  return folder;
}

const post = (address: string, body: string): Promise<number> =>
  fetch(address, { method: 'POST', body }).then(
    ({ status }) => status,
    () => 0,
  );

const kills = scaled(20);
test(`after each of ${kills} kills, what was answered is there`, { timeout }, async (t) => {
  const { service, start, secret, shown } = await startBells(await temporary(t), [
    '--bells-per-minute',
    'off',
  ]);
  const answered: string[] = [];
  for (let { child, base, ended } = service, round = 0; round < kills; round += 1) {
    const stop = new AbortController();
    const ring = async (worker: number): Promise<void> => {
      for (let count = 0; !stop.signal.aborted; count += 1) {
        const text = `${round} ${worker} ${count}`;
        if ((await post(`${base}/${secret}`, text)) === 200) answered.push(text);
      }
    };
    const rings = Array.from({ length: 8 }, (_, worker) => ring(worker));
    await sleep(100 + Math.random() * 400);
    child.kill('SIGKILL');
    await ended;
    stop.abort();
    await Promise.all(rings);
    ({ child, base, ended } = await start());
  }
  const stored = await shown();
  assert.ok(answered.length > kills);
  assert.deepEqual(
    answered.filter((text) => !stored.has(text)),
    [],
  );
  t.diagnostic(`${answered.length} answered, ${stored.size} stored`);
});

test('on a full disk the answer is 503, and what was answered with 200 is there', { timeout }, async (t) => {
  const folder = await temporary(t);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=12m,mode=700', 'tmpfs', folder]);
  if (mounted.status !== 0) return t.skip('a disk of its own cannot be mounted here');
  const { service, secret, shown } = await startBells(folder, ['--bells-per-minute', 'off']);
  const answered: string[] = [];
  const ring = async (text: string): Promise<number> => {
    const status = await post(`${service.base}/${secret}`, text);
    if (status === 200) answered.push(text);
    return status;
  };
  assert.equal(await ring('before'), 200);
  const filler = await open(join(folder, 'filler'), 'w');
  for (const size of [65_536, 4096, 512]) while (await filler.write(Buffer.alloc(size)).catch(() => false));
  await filler.close();
  let refused = 0;
  for (let count = 0; refused < 3 && count < 10_000; count += 1) {
    const status = await ring(`full ${count} ${'x'.repeat(2000)}`);
    assert.ok(status === 200 || status === 503, String(status));
    if (status === 503) refused += 1;
  }
  assert.equal(refused, 3);
  await rm(join(folder, 'filler'));
  assert.equal(await ring('after'), 200);
  assert.equal(await service.end(), 0);
  const stored = await shown();
  assert.deepEqual(
    answered.filter((text) => !stored.has(text)),
    [],
  );
  assert.ok(!service.written().includes(secret));
});

const head = (of: string, length: number, more = ''): string =>
  `POST /${of} HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n${more}\r\n`;
const chunked = (of: string): string =>
  `POST /${of} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n`;

/** Sends bytes as they are. @returns the answer, empty if there is none */
async function sendRaw(base: string, ...parts: readonly (string | Buffer | number)[]): Promise<string> {
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString())).on('error', () => {});
  await once(socket, 'connect');
  for (const part of parts) {
    if (typeof part === 'number') await sleep(part);
    else if (socket.writable) socket.write(part);
  }
  for (let waited = 0; !answer.includes('\r\n') && !socket.destroyed && waited < 200; waited += 1)
    await sleep(50);
  socket.destroy();
  return answer;
}

test(
  'slow, large, compressed and broken bodies are answered, and the next one rings',
  { timeout },
  async (t) => {
    const { service, secret } = await startBells(await temporary(t));
    const { base } = service;
    const wrong = 'A'.repeat(15);
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    const broken = '{"topic": "';
    for (const [expected, ...parts] of [
      ['200', head(secret, 4), 'a', 300, 'b', 300, 'cd'],
      ['401', head(wrong, 1024 * 1024 * 1024), 'x'],
      ['413', head('', 1024 * 1024 * 1024), 'x'.repeat(5000)],
      ['413', head(secret, 1024 * 1024 + 1), 'x'.repeat(1024 * 1024 + 1)],
      ['413', chunked(secret), ...Array.from({ length: 20 }, () => `10000\r\n${'x'.repeat(65_536)}\r\n`)],
      ['413', head(secret, bomb.length, 'content-encoding: gzip\r\n'), bomb],
      ['400', head(secret, 2, 'content-encoding: gzip\r\n'), 'no'],
      ['401', head('', broken.length), broken],
      ['200', head(secret, broken.length), broken],
      ['200', head(secret, 6), Buffer.of(0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0)],
      ['200', head(secret, 14), '{"a":"\\ud800"}'],
      ['200', head(secret, 400_006), `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`],
      ['200', head(secret, 9, 'content-type: multipart/form-data\r\n'), '--x\r\n\r\n--'],
      [
        '200',
        head(secret, 1_000_000, 'content-type: application/x-www-form-urlencoded\r\n'),
        'a&'.repeat(499_999),
        'b=',
      ],
      ['200', head(`${secret}?${'a&'.repeat(5000)}`, 0)],
      ['200', head(secret, 0, `title: ${'=?UTF-8?B?'.repeat(1000)}\r\n`)],
      ['200', head(secret, 0, `actions: ${'"'.repeat(4000)}\r\n`)],
      ['400', `POST /${secret} HTTP/1.1\r\nhost: x\r\ncontent-length: 1, 2\r\n\r\nx`],
      ['400', head('%00%ff', 0)],
      ['400', head(`${secret}%ff`, 0)],
      ['401', head(`${'x'.repeat(5000)}`, 0)],
      ['200', head(`${secret}/${'x'.repeat(5000)}`, 0)],
    ] as const) {
      const startMs = performance.now();
      const answer = await sendRaw(base, ...parts);
      const [line = ''] = answer.split('\r\n', 1);
      assert.ok(!/A[\w-]{14}%/.test(answer), answer);
      assert.ok(line.includes(` ${expected} `), `${line} for ${String(parts[0])}`);
      t.diagnostic(`${line} after ${Math.round(performance.now() - startMs)} ms`);
    }
    // bodies that never end take no other's place
    const { port } = new URL(base);
    const slow = Array.from({ length: 200 }, () => connect(Number(port), '127.0.0.1').on('error', () => {}));
    for (const socket of slow) socket.write(head(secret, 100) + 'x');
    assert.equal(await post(`${base}/${secret}`, 'x'), 200);
    for (const socket of slow) socket.destroy();
    const flood = await Promise.all(Array.from({ length: 500 }, () => post(`${base}/${secret}`, 'x')));
    assert.deepEqual(new Set(flood), new Set([200]));
    assert.equal(await service.end(), 0);
    for (const name of [secret, wrong]) assert.ok(!service.written().includes(name), service.written());
  },
);
