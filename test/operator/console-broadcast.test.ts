// What the console says of a broadcast, and what it does to one: real requests to a real listener with a real database.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { addSubscriptions, commitSlice } from '../store/store-under-test.ts';
import { signIn, type Visitor } from './console-visitor.ts';
import { startOperator } from './running-operator.ts';

const leaseMs = 10_000;
const message = { title: 'Ding dong', message: 'Tea is ready' };

/** The words of a page. */
const wordsOf = ({ html }: Visitor['page']): string =>
  html.replaceAll(/<(script|style)[^]*?<\/\1>|<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');

async function startWith(t: TestContext, subscriptions: number) {
  const operator = await startOperator(t);
  await addSubscriptions(operator.store, subscriptions);
  const create = async (startAt?: Date): Promise<number> =>
    (await operator.sender.createBroadcast('all', message, { startAt })).broadcast.id;
  return { ...operator, operator, create, visitor: await signIn(operator) };
}

test('the tiles count every broadcast that is open, and the overview says how many it shows of them', async (t) => {
  const { create, store, visitor } = await startWith(t, 1);
  for (let index = 0; index < 55; index += 1) await create();
  await create(new Date(Date.now() + 3_600_000));
  await store.broadcasts.pause(await create());
  const overview = wordsOf(await visitor.open('/console/'));
  assert.match(overview, /Broadcasts running 55 1 scheduled, 1 paused/);
  assert.match(overview, /The newest 50 of 57\./);
  const list = wordsOf(await visitor.open('/console/broadcasts?text=nothing'));
  assert.match(list, /Running 55 .*Scheduled 1 .*Paused 1 .*Preparing 0 /);
});

test('a cancelled broadcast shows how much of it was sent, everywhere', async (t) => {
  const { create, store, visitor } = await startWith(t, 20);
  const id = await create();
  const slice = await store.leases.leaseSlice({ leaseMs, broadcastId: id });
  const retry = { delayMs: 60_000, deferrals: 1, expiresAtMs: Date.now() + 600_000 };
  await commitSlice(
    store,
    slice!,
    (recipient) => ({
      recipient,
      origin: 'https://fcm.googleapis.com',
      attempts: 1,
      ...(recipient.position % 2 === 0
        ? { result: 'accepted' }
        : { result: 'retry', retry: { ...retry, attempts: recipient.position % 4 === 1 ? 1 : 0 } }),
    }),
    leaseMs,
  );
  assert.match(
    wordsOf(await visitor.open(`/console/broadcasts/${id}`)),
    /50 % 10 of 20 .*Pending 10 5 to be tried again, 5 put off/,
  );
  await store.broadcasts.cancel(id);
  const page = await visitor.open(`/console/broadcasts/${id}`);
  assert.match(wordsOf(page), /cancelled .*50 % 10 of 20 .*Accepted 10 .*Cancelled 10 /);
  for (const { html } of [page, await visitor.open('/console/broadcasts')])
    assert.match(html, /aria-label="50 % of 20"/);
});

test('a page shows the message above the attempts, to whom it went and who made it', async (t) => {
  const { create, visitor, operator } = await startWith(t, 1);
  const words = wordsOf(await visitor.open(`/console/broadcasts/${await create()}`));
  assert.match(words, /Ding dong Tea is ready To every subscription By the application \S+ .*Attempts/);
  const body = { audience: { tags: { any: ['news'], none: ['muted'] } }, message };
  const made = await operator.ask('/v1/broadcasts', { method: 'POST', body });
  const { id } = (await made.json()) as { readonly id: number };
  assert.match(
    wordsOf(await visitor.open(`/console/broadcasts/${id}`)),
    /To subscriptions with one of the tags news and none of the tags muted By the operator tester /,
  );
});

test('what reaches people or ends a broadcast is asked with the number, and said with it afterwards', async (t) => {
  const { create, store, visitor, operator } = await startWith(t, 3);
  const id = await create();
  const url = `/console/broadcasts/${id}`;
  await visitor.open(url);
  await visitor.submit(`${url}/pause`);
  assert.match(
    wordsOf(visitor.page),
    /Resume… Cancel… Duplicate .*Paused\. 3 messages will wait until the broadcast is resumed\. /,
  );
  assert.doesNotMatch(visitor.page.html, /<form[^>]*\/(resume|cancel)"/, 'neither is done by one click');
  await visitor.open(`${url}/resume`);
  assert.match(wordsOf(visitor.page), /Resume broadcast 1\? .*3 of 3 messages will be sent/);
  await visitor.submit(`${url}/resume`);
  assert.match(wordsOf(visitor.page), /Resumed\. 3 messages will be sent\. /);
  assert.equal((await store.broadcasts.get(id)).state, 'running');
  assert.equal((await visitor.open(`${url}/resume`)).url, url, 'it was resumed already');
  await visitor.open(`${url}/cancel`);
  assert.match(wordsOf(visitor.page), /3 of 3 messages will not be sent\. This cannot be undone\./);
  await visitor.submit(`${url}/cancel`);
  const done = visitor.page.url;
  assert.match(wordsOf(visitor.page), /Cancelled\. 3 messages will not be sent\. /);
  // nobody else's link says anything, nor a changed one
  const other = await signIn(operator, 'full', 'grace');
  assert.doesNotMatch(wordsOf(await other.open(done)), /Cancelled\./);
  assert.match(wordsOf(await visitor.open(done)), /Cancelled\. 3 messages/);
  const more = done.replace('cancelled.3.', 'cancelled.4.');
  assert.notEqual(more, done);
  for (const forged of [
    more,
    done.replace('cancelled', 'confirmed'),
    done.slice(0, -1),
    `${url}?done=cancelled.3`,
  ])
    assert.doesNotMatch(wordsOf(await visitor.open(forged)), /will not be sent|Deleted \d/, forged);
});
