// Registrations of push services that nobody has listed: how many of each in a minute, and of how many.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { Store } from '../../src/store/store.ts';
import { newSubscription, sendJson, startService, vapidPublicKey } from './running-service.ts';

const subscriptionOf = (host: string) => ({
  ...newSubscription(),
  endpoint: `https://${host}/up${Math.random().toString(36).slice(2)}?up=1`,
});

async function codeOf(response: Response): Promise<string | undefined> {
  if (response.status === 200) return undefined;
  return `${response.status} ${((await response.json()) as { code: string }).code}`;
}

/** Each of them accepts a message. */
async function accept({ ledger }: Store, ...hosts: readonly string[]): Promise<void> {
  const answer = { vapidPublicKey, accepted: 1, hasRefused: false, refusalsInRow: 0 };
  const answers = hosts.map((host) => ({ origin: `https://${host}`, ...answer }));
  await ledger.recordAnswers({ id: randomUUID(), origins: [], answers });
}

test('beyond the number of push services a further one is refused; listed and known ones are no part of it', async (t) => {
  const pushServices = ['public', 'https://listed.example.org'];
  const { base, store } = await startService({ pushServices, maxPushServices: 2 }, t);
  const register = async (host: string, row: object = subscriptionOf(host)) =>
    codeOf(await sendJson(base, 'POST', '/webPush', row));
  const first = subscriptionOf('one.example.net');
  assert.equal(await register('', first), undefined);
  assert.equal(await register('two.example.net'), undefined);
  await accept(store, 'one.example.net', 'two.example.net');
  assert.equal(await register('three.example.net'), '503 ERR_PUSH_SERVICE_LIMIT');
  for (const host of ['two.example.net', 'listed.example.org', 'fcm.googleapis.com']) {
    assert.equal(await register(host), undefined, host);
  }
  assert.equal(await register('', first), undefined, 'one that is stored may always be sent again');
});

test('made-up hosts take no place from those that accept messages, nor keep one from others', async (t) => {
  const { base, store } = await startService({ pushServices: 'public', maxPushServices: 3 }, t);
  const register = async (host: string, row: object = subscriptionOf(host)) =>
    codeOf(await sendJson(base, 'POST', '/webPush', row));
  const mine = subscriptionOf('mine.example.org');
  assert.equal(await register('', mine), undefined);
  await register('good.example.org');
  await accept(store, 'good.example.org');
  for (let number = 1; number <= 10; number += 1)
    assert.equal(await register(`n${number}.example.net`), undefined);
  assert.deepEqual(
    (await store.unlisted.list()).map((origin) => new URL(origin).host),
    ['good.example.org', 'n10.example.net', 'n9.example.net'],
  );
  assert.equal(await store.subscriptions.count(), 12);
  assert.equal(await register('', mine), undefined);
  assert.ok((await store.unlisted.list()).includes('https://mine.example.org'));
});

test('a hundred push services that nobody has listed may have subscriptions, where nothing else is configured', async (t) => {
  const { base, records, store } = await startService({ pushServices: 'public' }, t);
  const codes = [];
  for (let number = 1; number <= 101; number += 1) {
    const host = `n${number}.example.net`;
    if (number <= 100) {
      await store.unlisted.add(`https://${host}`, 100);
      await accept(store, host);
    }
    codes.push(await codeOf(await sendJson(base, 'POST', '/webPush', subscriptionOf(host))));
  }
  assert.deepEqual(codes, [...Array.from({ length: 100 }, () => undefined), '503 ERR_PUSH_SERVICE_LIMIT']);
  // a warning, an information, and no fault with a stack
  const told = records.filter(({ event }) => event !== undefined && event !== 'subscription');
  assert.deepEqual(
    told.map(({ event, pushServices, code }) => [event, pushServices ?? code]),
    [
      ['push-services-nearly-full', 90],
      ['limit', 'ERR_PUSH_SERVICE_LIMIT'],
    ],
  );
});

test('more than sixty new subscriptions of one push service in a minute are refused; others and stored ones are not', async (t) => {
  const { base } = await startService({ pushServices: 'public' }, t);
  const post = (row: object) => sendJson(base, 'POST', '/webPush', row);
  const register = async (row: object) => codeOf(await post(row));
  const startedMs = performance.now();
  const rows = Array.from({ length: 60 }, () => subscriptionOf('up.example.net'));
  const codes = await Promise.all(rows.map(register));
  assert.deepEqual(new Set(codes), new Set([undefined]));
  const refused = await post(subscriptionOf('up.example.net'));
  const { code, detail } = (await refused.json()) as { code: string; detail: string };
  assert.deepEqual([refused.status, code], [429, 'ERR_RATE_LIMITED']);
  const waitSeconds = Number(/wait (\d+) s\.$/.exec(detail)?.[1]);
  const passedSeconds = (performance.now() - startedMs) / 1000;
  assert.equal(refused.headers.get('retry-after'), String(waitSeconds));
  assert.ok(waitSeconds <= 60 && waitSeconds >= Math.floor(60 - passedSeconds), detail);
  assert.equal(await register(rows[0]!), undefined);
  assert.equal(await register(subscriptionOf('other.example.net')), undefined);
  assert.equal(
    await register(subscriptionOf('up.example.net:8443')),
    undefined,
    'another port is another one',
  );
  assert.equal(await register(subscriptionOf('fcm.googleapis.com')), undefined);
});
