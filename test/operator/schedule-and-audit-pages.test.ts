// The console's pages of schedules and of the audit, without a browser: what they show, and what their forms do.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addSubscriptions, madeUpSchedule } from '../store/store-under-test.ts';
import { signIn, type Visitor, wordsOf } from './console-visitor.ts';
import { startOperator } from './running-operator.ts';

/** The ids of the things of this kind that a page leads to. */
const idsIn = ({ html }: Visitor['page'], kind: 'schedules' | 'broadcasts'): readonly number[] =>
  Array.from(html.matchAll(new RegExp(`href="/console/${kind}/(\\d+)"`, 'g')), ([, id]) => Number(id));

test('a schedule is shown with its times and last result, paused, resumed, and removed after a question', async (t) => {
  const { store, sender, ...operator } = await startOperator(t);
  const visitor = await signIn({ store, sender, ...operator });
  assert.match(wordsOf(await visitor.open('/console/schedules')), /No schedules yet/);

  await addSubscriptions(store, 3);
  const { broadcast } = await sender.createBroadcast('all', { title: 'Monday', message: '' });
  const draft = madeUpSchedule({
    audience: { user: 'ada', tags: { any: ['news', 'tea'] } },
    message: { title: '<b>Monday</b>', message: '' },
    urgency: 'high',
  });
  const { id, nextAtMs } = await store.schedules.add(draft);
  await store.schedules.advance(id, { fromMs: nextAtMs, toMs: nextAtMs, broadcastId: broadcast.id });
  await visitor.open('/console/schedules');
  assert.match(visitor.page.html, /&lt;b&gt;Monday&lt;\/b&gt;/);
  assert.match(
    wordsOf(visitor.page),
    /to the user &quot;ada&quot; with one of the tags news, tea 0 9 \* \* 1 Europe\/Berlin 2027-01-04 08:00 UTC 2027-01-11 08:00 UTC 2027-01-18 08:00 UTC Broadcast 1 running 3 pending/,
  );
  assert.match(visitor.page.html, /href="\/console\/broadcasts\/1"/);

  await visitor.submit(`/console/schedules/${id}/pause`);
  assert.equal(visitor.page.url, `/console/schedules/${id}`);
  assert.match(wordsOf(visitor.page), /paused since .* not made up for/);
  assert.match(wordsOf(visitor.page), /Urgency high/);
  assert.doesNotMatch(wordsOf(visitor.page), /2027-01-04 08:00/);
  assert.ok((await store.schedules.get(id)).pausedAtMs);
  await visitor.submit(`/console/schedules/${id}/resume`);
  assert.equal((await store.schedules.get(id)).pausedAtMs, undefined);

  await visitor.open(`/console/schedules/${id}/remove`);
  assert.equal((await store.schedules.list()).length, 1, 'it was asked first');
  await visitor.submit(`/console/schedules/${id}/remove`);
  assert.match(wordsOf(visitor.page), /Schedule 1 was removed .* Broadcasts that it made stay/);
  assert.deepEqual(await store.schedules.list(), []);
  assert.equal((await store.broadcasts.list({ limit: 9 })).length, 1);
  assert.equal((await visitor.open(`/console/schedules/${id}`)).status, 404);
});

test('a schedule whose message has no title is called by its text, everywhere', async (t) => {
  const operator = await startOperator(t);
  const { id } = await operator.store.schedules.add(
    madeUpSchedule({ message: { title: ' ', message: 'Tea is ready' } }),
  );
  const visitor = await signIn(operator);
  const url = `/console/schedules/${id}`;
  assert.match(
    (await visitor.open('/console/schedules')).html,
    new RegExp(`<a href="${url}"><bdi>Tea is ready</bdi></a>`),
  );
  assert.match((await visitor.open(url)).html, /<p class="quiet"><bdi>Tea is ready<\/bdi><\/p>/);
  assert.match((await visitor.open(`${url}/remove`)).html, /<p class="quiet"><bdi>Tea is ready<\/bdi><\/p>/);
  assert.match(wordsOf(await visitor.submit(`${url}/remove`)), /Tea is ready is not sent again/);
});

test('very many schedules come in pages, and who may read only changes none', async (t) => {
  const operator = await startOperator(t);
  for (let count = 0; count < 30; count += 1) await operator.store.schedules.add(madeUpSchedule());
  const visitor = await signIn(operator, 'read');
  const first = await visitor.open('/console/schedules');
  assert.equal(idsIn(first, 'schedules').length, 25);
  assert.doesNotMatch(first.html, /schedules\/\d+\/(?:pause|remove)/);
  const next = /href="(\/console\/schedules\?after=25)"/.exec(first.html)?.[1] ?? '';
  assert.deepEqual(idsIn(await visitor.open(next), 'schedules'), [26, 27, 28, 29, 30]);
});

test('the audit is found by operator, action and day in the address, and leads to what was changed', async (t) => {
  const operator = await startOperator(t);
  const { store } = operator;
  const visitor = await signIn(operator);
  assert.match(wordsOf(await visitor.open('/console/audit')), /Nothing has been changed yet/);
  for (let index = 0; index < 120; index += 1) {
    const record = { operator: index % 2 === 0 ? 'shop' : '<i>', action: 'broadcast.pause' };
    const id = await store.audit.begin({ ...record, target: `broadcast ${index}` });
    await store.audit.finish(id, { status: index % 4 === 0 ? 409 : 200 });
  }
  await store.audit.begin({ operator: 'shop', action: 'schedule.remove', target: 'schedule 3' });
  const today = new Date().toISOString().slice(0, 10);

  const first = await visitor.open('/console/audit');
  assert.match(wordsOf(first), /shop schedule\.remove schedule 3 no answer/);
  assert.match(wordsOf(first), /broadcast 116 refused 409/);
  assert.match(first.html, /href="\/console\/broadcasts\/117"/);
  assert.match(first.html, /&lt;i&gt;/);
  assert.match(first.html, /href="\/console\/audit\?operator=shop"/);

  // 60 of them: two pages, of which the second has the same filters in its address and its form
  const filter = `operator=shop&action=broadcast.pause&since=${today}&until=${today}`;
  const one = await visitor.open(`/console/audit?${filter}`);
  assert.deepEqual(
    idsIn(one, 'broadcasts'),
    Array.from({ length: 50 }, (_, index) => 118 - 2 * index),
  );
  const older = /rel="next"\s+href="([^"]+)"/.exec(one.html)?.[1]?.replaceAll('&amp;', '&') ?? '';
  assert.ok(older.startsWith(`/console/audit?${filter}&before=`), older);
  const two = await visitor.open(older);
  assert.deepEqual(
    idsIn(two, 'broadcasts'),
    Array.from({ length: 10 }, (_, index) => 18 - 2 * index),
  );
  for (const value of ['shop', 'broadcast.pause', today])
    assert.match(two.html, new RegExp(`value="${value}"`));
  assert.doesNotMatch(two.html, /rel="next"/);
  assert.match(wordsOf(await visitor.open('/console/audit?until=2020-01-01')), /No change fits/);
});
