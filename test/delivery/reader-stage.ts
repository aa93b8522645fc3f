// One broadcast that differs by reader, delivered by two processes that are killed again and again while the clock goes from one
// group of readers to the next. Every message is read as its browser would: with `http_ece`, which is not ours.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { createECDH, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSender } from '../../src/delivery/sender.ts';
import type { Broadcast } from '../../src/store/broadcasts.ts';
import type { Store } from '../../src/store/store.ts';
import { until } from '../../tools/until.ts';
import { vapid, vapidKeys } from './broadcast-bench.ts';
import { listenOnNewPort } from '../../tools/listening.ts';

interface HttpEce {
  decrypt(body: Buffer, parameters: Readonly<Record<string, unknown>>): Buffer;
}
const ece = createRequire(import.meta.url)('http_ece') as HttpEce;

/** When the broadcast is made: 12:00 in Berlin, 06:00 in New York, 20:00 in Tokyo. */
const madeAtMs = Date.parse('2026-12-01T11:00:00Z');
const message = {
  title: 'Hello {name|there}',
  message: 'Tea is ready {{now}}',
  url: '/tea/{name|all}',
  placeholders: true,
  texts: {
    de: { title: 'Hallo {name|du}', message: 'Der Tee ist fertig' },
    pt: { title: 'Olá {name|você}' },
  },
} as const;
const options = {
  localTime: '13:00',
  ifTimePassed: 'send',
  timeZone: 'Europe/Berlin',
  quietHours: '20:00-08:00',
  channel: 'tea',
} as const;

const hostile = 'a"{name|x}\u202e</script>\u0000 & more';
const names = [undefined, 'Ada', hostile, 'שרה', 'x'.repeat(200)];

/** What somebody should read, and when at the earliest. Half are in Tokyo, where it is quiet until 08:00. */
const zones = [
  { timeZone: 'Europe/Berlin', dueMs: Date.parse('2026-12-01T12:00:00Z') },
  { timeZone: 'America/New_York', dueMs: Date.parse('2026-12-01T18:00:00Z') },
  { timeZone: 'Asia/Tokyo', dueMs: Date.parse('2026-12-01T23:00:00Z') },
  { timeZone: 'Asia/Tokyo', dueMs: Date.parse('2026-12-01T23:00:00Z') },
] as const;
const languages = [
  { language: 'de-AT', titleOf: (name = 'du') => `Hallo ${name}`, text: 'Der Tee ist fertig' },
  { language: 'pt-BR', titleOf: (name = 'você') => `Olá ${name}`, text: 'Tea is ready {now}' },
  { language: 'fr', titleOf: (name = 'there') => `Hello ${name}`, text: 'Tea is ready {now}' },
] as const;
/** As text: without what would reorder it or break its line, and letters from right to left by themselves. */
const shownNames = [undefined, 'Ada', 'a"{name|x}</script> & more', '\u2068שרה\u2069', 'x'.repeat(200)];

/** One in so many has the channel off. */
const offEach = 10;
/** One in so many is answered with 503 at first. */
const busyEach = 23;
/** Processes begin so long before a group is due, and go on until it is. */
const beforeMs = 1000;

interface Received {
  readonly body: Buffer;
  readonly atMs: number;
}

interface Reader {
  readonly privateKey: Buffer;
  readonly auth: Buffer;
  readonly received: Received[];
  isBusy: boolean;
}

const whoIs = (number: number) => ({
  zone: zones[number % zones.length]!,
  language: languages[number % languages.length]!,
  name: names[number % names.length],
  shownName: shownNames[number % names.length],
  isOff: number % offEach === offEach - 1,
});

/**
 * @param clock that the store reads
 * @param kills in all
 */
export async function deliverToReaders(
  store: Store,
  clock: { aheadMs: number },
  { rows, kills }: { readonly rows: number; readonly kills: number },
) {
  clock.aheadMs = madeAtMs - Date.now();
  const readers = Array.from({ length: rows }, makeReader);
  const server = createServer((request, response) => {
    const reader = readers[Number(request.url?.slice(1))]!;
    void buffer(request).then((body) => {
      if (reader.isBusy) {
        reader.isBusy = false;
        response.writeHead(503).end();
        return;
      }
      reader.received.push({ body, atMs: Date.now() + clock.aheadMs });
      response.writeHead(201).end();
    });
  });
  const port = await listenOnNewPort(server);
  const origin = `http://127.0.0.1:${port}`;
  const children: ChildProcess[] = [];
  try {
    await subscribeAll(store, origin, readers);
    const sender = createSender({ vapid, store, pushServices: [origin], threads: 0 });
    const { broadcast } = await sender.createBroadcast('all', message, options);
    await until(
      async () => (await store.broadcasts.get(broadcast.id)).state !== 'preparing',
      'a complete audience',
    );
    await sender.close();

    const expected = new Map<number, number>();
    for (const [number] of readers.entries()) {
      const { zone, isOff } = whoIs(number);
      if (!isOff) expected.set(zone.dueMs, (expected.get(zone.dueMs) ?? 0) + 1);
    }
    let due = 0;
    let killed = 0;
    const killsOfGroup = Math.ceil(kills / expected.size);
    for (const [dueMs, count] of expected) {
      due += count;
      clock.aheadMs = dueMs - beforeMs - Date.now();
      children.push(...[1, 2].map(() => startChild(store, origin, clock.aheadMs)));
      for (let killedHere = 0; killedHere < killsOfGroup; killedHere += 1) {
        const before = countMessages(readers);
        await until(() => countMessages(readers) !== before || countReached(readers) >= due, 'a message');
        await sleep(Math.random() * 30);
        await kill(children.splice(killedHere % 2, 1, startChild(store, origin, clock.aheadMs))[0]!);
        killed += 1;
      }
      await until(
        () => countReached(readers) >= due,
        () => `${due} messages; ${countReached(readers)} have come`,
        20 * 60_000,
      );
      if (due === [...expected.values()].reduce((sum, each) => sum + each, 0)) {
        await until(async () => (await store.broadcasts.get(broadcast.id)).state === 'done', 'its end');
      }
      await Promise.all(children.splice(0).map(kill));
    }
    for (const [number, reader] of readers.entries()) assertRead(number, reader);
    const messages = countMessages(readers);
    return {
      broadcast: await store.broadcasts.get(broadcast.id),
      messages,
      repeats: messages - countReached(readers),
      killed,
    };
  } finally {
    await Promise.all(children.map(kill));
    server.close();
  }
}

/** How many are in the audience, and how many get each text. */
export function expectedCounts(rows: number): {
  readonly recipients: number;
  readonly texts: Broadcast['texts'];
} {
  const reached = Array.from({ length: rows }, (_, number) => whoIs(number)).filter(({ isOff }) => !isOff);
  const countOf = (language: string) => reached.filter((who) => who.language.language === language).length;
  return {
    recipients: reached.length,
    texts: [
      { language: 'de', recipients: countOf('de-AT') },
      { language: 'pt', recipients: countOf('pt-BR') },
    ],
  };
}

const ecdh = createECDH('prime256v1');

function makeReader(_: unknown, number: number): Reader & { readonly publicKey: Buffer } {
  const publicKey = ecdh.generateKeys();
  const isBusy = number % busyEach === 0;
  return { publicKey, privateKey: ecdh.getPrivateKey(), auth: randomBytes(16), received: [], isBusy };
}

/** Of every other one, language and time zone are those of the browser. */
const isKnownByBrowser = (number: number): boolean => number % 2 === 1;

function factsOf(number: number) {
  const { zone, language } = whoIs(number);
  return { timeZone: zone.timeZone, language: language.language };
}

async function subscribeAll(
  store: Store,
  origin: string,
  readers: readonly ReturnType<typeof makeReader>[],
): Promise<void> {
  await store.channels.put({ name: 'tea', title: 'Tea', titles: {}, isOnByDefault: true });
  const rowsAtOnce = 5000;
  for (let first = 0; first < readers.length; first += rowsAtOnce) {
    await store.subscriptions.putAll(
      readers.slice(first, first + rowsAtOnce).map(({ publicKey, auth }, index) => ({
        subscription: {
          endpoint: `${origin}/${first + index}`,
          p256dh: new Uint8Array(publicKey),
          auth: new Uint8Array(auth),
        },
        vapidPublicKey: vapidKeys.publicKey,
        assign: { user: `user ${first + index}`, tags: [] },
        ...(isKnownByBrowser(first + index) && factsOf(first + index)),
      })),
    );
  }
  const peopleAtOnce = 200;
  for (let first = 0; first < readers.length; first += peopleAtOnce) {
    await Promise.all(
      readers.slice(first, first + peopleAtOnce).map((_, index) => {
        const { name, isOff } = whoIs(first + index);
        return store.readers.setPerson(`user ${first + index}`, {
          ...(!isKnownByBrowser(first + index) && factsOf(first + index)),
          ...(name !== undefined && { data: { name } }),
          ...(isOff && { channels: { tea: false } }),
        });
      }),
    );
  }
}

function startChild({ address }: Store, origin: string, aheadMs: number): ChildProcess {
  const program = join(import.meta.dirname, 'reader-child.ts');
  return spawn(process.execPath, [program, JSON.stringify({ address, origin, vapidKeys, aheadMs })], {
    // it ends with the test
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

const countMessages = (readers: readonly Reader[]): number =>
  readers.reduce((sum, { received }) => sum + received.length, 0);
const countReached = (readers: readonly Reader[]): number =>
  readers.filter(({ received }) => received.length > 0).length;

function assertRead(number: number, { privateKey, auth, received }: Reader): void {
  const { zone, language, shownName, name, isOff } = whoIs(number);
  const where = `reader ${number}`;
  assert.equal(received.length > 0, !isOff, where);
  const key = createECDH('prime256v1');
  key.setPrivateKey(privateKey);
  for (const { body, atMs } of received) {
    const parameters = { version: 'aes128gcm', privateKey: key, authSecret: auth };
    const read = JSON.parse(ece.decrypt(body, parameters).toString()) as Readonly<Record<string, string>>;
    assert.equal(read['title'], language.titleOf(shownName), where);
    assert.equal(read['message'], language.text, where);
    assert.match(read['url']!, name === undefined ? /^\/tea\/all$/ : /^\/tea\/[\w%.~!*'()-]+$/, where);
    assert.ok(atMs >= zone.dueMs, `${where} got it ${zone.dueMs - atMs} ms before ${zone.timeZone}`);
  }
}
