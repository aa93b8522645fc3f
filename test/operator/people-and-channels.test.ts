// Channels and people in the operator's API: what is set, what is refused, and what the audit says of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Problem } from '../../src/http/problem.ts';
import { startStage } from './running-operator.ts';

test('channels are made, changed, listed by pages and removed', async (t) => {
  const { ask, read, add } = await startStage(t);
  const change = (name: string, body: object) =>
    read(`/v1/channels/${encodeURIComponent(name)}`, { method: 'PATCH', body });
  assert.deepEqual(await change('sport', { title: 'Sport', isOnByDefault: false }), {
    name: 'sport',
    title: 'Sport',
    titles: {},
    isOnByDefault: false,
  });
  const news = { name: 'news', title: 'News', titles: { de: 'Nachrichten' }, isOnByDefault: true };
  const untitled = await ask('/v1/channels/news', { method: 'PATCH', body: { isOnByDefault: true } });
  assert.match(((await untitled.json()) as Problem).detail, /no channel "news" yet; give it a title/);
  await change('news', { title: 'Old', titles: { de: 'Neues', fr: 'Actualités' }, isOnByDefault: false });
  await change('news', { titles: { DE: 'Nachrichten', fr: null } });
  assert.deepEqual(await change('news', { title: 'News', isOnByDefault: true }), news);
  const first = await read<{ readonly next: string }>('/v1/channels?limit=1');
  assert.deepEqual(first, { items: [news], next: 'news' });
  const rest = await read<{ readonly items: readonly { readonly name: string }[] }>(
    `/v1/channels?cursor=${first.next}`,
  );
  assert.deepEqual(
    rest.items.map(({ name }) => name),
    ['sport'],
  );
  const sending = { headers: { authorization: `Bearer ${await add('cron', 'send')}` } };
  assert.equal((await ask('/v1/channels', sending)).status, 200, 'who sends sees to what');
  assert.equal((await ask('/v1/channels/news', { method: 'DELETE', ...sending })).status, 403);

  assert.equal((await ask('/v1/channels/sport', { method: 'DELETE' })).status, 204);
  const again = await ask('/v1/channels/sport', { method: 'DELETE' });
  assert.equal(again.status, 404);
  const { code, detail } = (await again.json()) as Problem;
  assert.deepEqual([code, detail], ['ERR_CHANNEL_NOT_FOUND', 'There is no channel "sport".']);
  const { items } = await read<{ readonly items: readonly Record<string, unknown>[] }>('/v1/audit');
  assert.deepEqual(
    items.slice(0, 2).map(({ action, target, status }) => [action, target, status]),
    [
      ['channel.remove', 'channel sport', 404],
      ['channel.remove', 'channel sport', 204],
    ],
  );
});

test('a person is set and cleared member by member, and removed with all that was set', async (t) => {
  const { ask, read, store } = await startStage(t, [{ user: 'ada' }]);
  const patch = (body: object) => read('/v1/people/ada', { method: 'PATCH', body });
  await read('/v1/channels/news', { method: 'PATCH', body: { title: 'News' } });
  assert.deepEqual(await read('/v1/people/ada'), { user: 'ada', data: {}, channels: {} });
  await patch({ data: { name: 'Ada', points: 3 }, language: 'PT-br', timeZone: 'Europe/Berlin' });
  assert.deepEqual(await patch({ data: { points: null }, timeZone: null, channels: { news: false } }), {
    user: 'ada',
    data: { name: 'Ada' },
    language: 'pt-BR',
    channels: { news: false },
  });
  const cleared = { data: { name: 'Ada' }, language: 'pt-BR', channels: {} };
  assert.deepEqual(await patch({ channels: { news: null } }), { user: 'ada', ...cleared });
  await patch({ channels: { news: false } });
  assert.deepEqual(await patch({ data: null, language: null, channels: null }), {
    user: 'ada',
    data: {},
    channels: {},
  });
  await patch({ data: { name: 'Ada' }, language: 'pt-BR', channels: { news: false } });
  const refused = await ask('/v1/people/ada', { method: 'PATCH', body: { channels: { nwes: true } } });
  assert.equal(refused.status, 404);
  const { code, detail, errors } = (await refused.json()) as Problem;
  assert.equal(detail, 'There is no channel "nwes"; there are news.');
  assert.deepEqual(errors, [{ pointer: '/channels/nwes', code, detail }]);
  const [row] = await store.subscriptions.page({ afterId: 0, limit: 1 });
  assert.deepEqual(await store.readers.choices(row!), { news: false });
  await read('/v1/subscriptions?user=ada', { method: 'DELETE' });
  assert.deepEqual(await read('/v1/people/ada'), { user: 'ada', data: {}, channels: {} });
  const { items } = await read<{ readonly items: readonly Record<string, unknown>[] }>('/v1/audit');
  assert.deepEqual(
    items.find(({ action }) => action === 'person.update'),
    { ...items[1], action: 'person.update', target: 'user #3', status: 404 },
    'the audit has the hash of a user alone',
  );
});

test('a subscription is shown with what its browser has said, and what was chosen there', async (t) => {
  const { read, store } = await startStage(t);
  await store.channels.put({ name: 'news', title: 'News', titles: {}, isOnByDefault: true });
  const [row] = await store.subscriptions.page({ afterId: 0, limit: 1 });
  await store.subscriptions.register({
    subscription: row!,
    vapidPublicKey: row!.vapidPublicKey,
    language: 'de',
    timeZone: 'Europe/Berlin',
  });
  await store.readers.choose(row!, { news: false });
  const shown = await read<Record<string, unknown>>('/v1/subscriptions/1');
  const renewed = await store.subscriptions.findById(1);
  assert.deepEqual(
    [shown['createdAt'], shown['updatedAt']],
    [renewed!.createdAtMs, renewed!.updatedAtMs].map((atMs) => new Date(atMs).toISOString()),
  );
  assert.ok(renewed!.updatedAtMs > renewed!.createdAtMs);
  const { language, timeZone, channels } = shown;
  assert.deepEqual([language, timeZone, channels], ['de', 'Europe/Berlin', { news: false }]);
});
