// What the console says of a broadcast, and what it does to one: real requests to a real listener with a real database.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import { addSubscriptions, commitSlice, madeUpBroadcast } from '../store/store-under-test.ts';
import { pickDeliveryOptions } from '../../src/store/delivery-options.ts';
import { decode, signIn, wordsOf } from './console-visitor.ts';
import { startOperator } from './running-operator.ts';

const leaseMs = 10_000;
const message = { title: 'Ding dong', message: 'Tea is ready' };

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

test('a broadcast can be paused, resumed and cancelled where its state admits it', async (t) => {
  const { create, store, visitor } = await startWith(t, 1);
  const audienceId = await store.broadcasts.openAudience();
  const toNews = { ...madeUpBroadcast(Date.now()), audienceId, matching: { tags: { all: ['news'] } } };
  const { broadcast } = await store.broadcasts.create(toNews);
  const first = await visitor.open(`/console/broadcasts/${broadcast.id}`);
  assert.match(wordsOf(first), /preparing .*0 % 0 of 0 /);
  assert.match(first.html, /aria-label="0 % of 0"/);
  const [scheduled, running, paused, cancelled] = [
    await create(new Date(Date.now() + 3_600_000)),
    await create(),
    await create(),
    await create(),
  ];
  await store.broadcasts.pause(paused);
  await store.broadcasts.cancel(cancelled);
  const controlsOf = async (id: number) => {
    const { html } = await visitor.open(`/console/broadcasts/${id}`);
    return [...html.matchAll(/"\/console\/broadcasts\/\d+\/(pause|resume|cancel)"/g)].map(([, name]) => name);
  };
  assert.deepEqual(await controlsOf(broadcast.id), ['pause', 'cancel'], 'preparing');
  assert.deepEqual(await controlsOf(scheduled), ['pause', 'cancel'], 'scheduled');
  assert.deepEqual(await controlsOf(running), ['pause', 'cancel'], 'running');
  assert.deepEqual(await controlsOf(paused), ['resume', 'cancel'], 'paused');
  assert.deepEqual(await controlsOf(cancelled), [], 'cancelled');
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

test('a broadcast is duplicated with its message, audience and options, and makes another one', async (t) => {
  const { operator, store, visitor } = await startWith(t, 3);
  const whole = {
    title: 'Ding "dong"',
    message: 'Tea is\nready',
    url: 'https://example.org/tea',
    icon: 'https://example.org/icon.png',
    tag: null,
    renotify: true,
    requireInteraction: false,
    silent: true,
    timestamp: Date.UTC(2027, 0, 1, 9, 30),
    lang: 'en',
    dir: 'rtl',
    appBadge: 3,
    data: { order: 7 },
    actions: [
      { title: 'Open', url: 'https://example.org/open' },
      { title: 'Later', action: 'later' },
    ],
  } as const;
  const options = {
    ttlSeconds: 60,
    urgency: 'high',
    topic: 'tea',
    priority: 'high',
    perPerson: '3/day',
  } as const;
  const copy = async (id: number): Promise<number> => {
    await visitor.open(`/console/broadcasts/${id}`);
    await visitor.open(/href="([^"]*)">Duplicate/.exec(visitor.page.html)![1]!);
    assert.match(
      wordsOf(visitor.page),
      new RegExp(`A copy of broadcast ${id}; it is sent only after the review`),
    );
    await visitor.submit('/console/send', fieldsOf(visitor.page.html));
    await visitor.submit('/console/send/confirm');
    const made = Number(/broadcasts\/(\d+)/.exec(visitor.page.url)?.[1]);
    assert.notEqual(made, id);
    return made;
  };
  const contentOf = async (id: number) => {
    const { payload, audience, recipients, ...rest } = await store.broadcasts.get(id);
    const {
      id: _own,
      tag,
      ...members
    } = JSON.parse(Buffer.from(payload).toString()) as Record<string, unknown>;
    const isMadeUp = typeof tag === 'string' && tag.length === 16;
    return {
      members,
      tag: isMadeUp ? 'made up' : tag,
      audience,
      recipients,
      options: pickDeliveryOptions({ ...rest, receipts: undefined }),
    };
  };
  const tags = { all: ['news', 'de'], any: ['beta'], none: ['muted'] };
  for (const [content, audience, given] of [
    [whole, 'all', options],
    [{ ...whole, declarative: true, tag: 'tea', mutable: true }, { tags }, {}],
    [{ title: 'Order 7', message: '' }, { user: 'ada' }, {}],
    [{ title: 'Order 8', message: 'x' }, { ids: [1, 3] }, {}],
  ] as const) {
    const { broadcast } = await operator.sender.createBroadcast(audience, content, given);
    const made = await copy(broadcast.id);
    assert.deepEqual(await contentOf(made), await contentOf(broadcast.id));
    assert.deepEqual((await store.broadcasts.get(made)).createdBy, { operator: 'ada-full' });
  }
  // what the form cannot name goes to nobody by itself, and never to all
  const { broadcast } = await operator.sender.createBroadcast(
    { user: 'ada', tags },
    { title: 'x', message: 'y' },
  );
  await visitor.open(`/console/send?from=${broadcast.id}`);
  assert.match(
    wordsOf(visitor.page),
    /It went to the user &quot;ada&quot; with all of the tags .*: choose an audience\./,
  );
  await visitor.submit('/console/send', fieldsOf(visitor.page.html));
  assert.match(wordsOf(visitor.page), /Give the id of a subscription at least/);
  const endpoint = 'https://fcm.googleapis.com/fcm/send/1';
  const p256dh = generateVapidKeys().publicKey;
  const subscriptions = [{ endpoint, p256dh, auth: 'A'.repeat(22) }];
  const given = await operator.sender.createBroadcast({ subscriptions }, { title: 'x', message: 'y' });
  await visitor.open(`/console/send?from=${given.broadcast.id}`);
  assert.match(wordsOf(visitor.page), /It went to a list of .*: choose an audience\./);
  // ids as far as they fit into the form
  for (const [count, isRepeated] of [
    [1000, true],
    [1001, false],
  ] as const) {
    const ids = Array.from({ length: count }, (_, index) => index + 1);
    const listed = await operator.sender.createBroadcast({ ids }, { title: 'x', message: 'y' });
    const { html } = await visitor.open(`/console/send?from=${listed.broadcast.id}`);
    assert.equal(html.includes(ids.join(', ')), isRepeated, String(count));
    assert.equal(html.includes('choose an audience'), !isRepeated, String(count));
  }
  assert.equal((await visitor.open('/console/send?from=999')).status, 404);
});

/** What a browser would send of the form for messages. */
function fieldsOf(html: string): Readonly<Record<string, string>> {
  const form = html.slice(html.indexOf('<form method="post" action="/console/send"')).split('</form>')[0]!;
  const texts = form.matchAll(/<input[^>]*\sname="(\w+)"[^>]*\svalue="([^"]*)"([^>]*)/g);
  const areas = form.matchAll(/<textarea\s+name="(\w+)"[^>]*>([^<]*)</g);
  const selects = form.matchAll(/<select name="(\w+)"[^>]*>([^]*?)<\/select>/g);
  return Object.fromEntries([
    ...Array.from(texts)
      .filter(([input, , , rest]) => !input.includes('checkbox') || rest!.includes('checked'))
      .map(([, name, value]) => [name!, decode(value!)]),
    ...Array.from(areas, ([, name, text]) => [name!, decode(text!)]),
    ...Array.from(selects, ([, name, choices]) => [
      name!,
      /value="([^"]*)" selected/.exec(choices!)?.[1] ?? '',
    ]),
  ]) as Record<string, string>;
}

test('a broadcast says when 50, 95 and 99 % had an outcome, how exact that is, and what was shown of the accepted', async (t) => {
  const { create, operator, store, visitor } = await startWith(t, 200);
  const id = await create();
  const { startAtMs } = await store.broadcasts.get(id);
  const url = `/console/broadcasts/${id}`;
  const reached = async () =>
    (await operator.read<{ readonly reachTimes: readonly object[] }>(`/v1/broadcasts/${id}`)).reachTimes;
  assert.deepEqual(await reached(), [{ percent: 50 }, { percent: 95 }, { percent: 99 }]);
  const slice = (await store.leases.leaseSlice({ leaseMs, broadcastId: id }))!;
  const rows = await store.ledger.readRows(slice, slice.cursor, 200);
  assert.equal(rows.length, 200);
  let fromCursor = slice.cursor;
  const commit = async (count: number, result: 'accepted' | 'gone') => {
    const some = rows.filter(({ position }) => position > fromCursor).slice(0, count);
    const cursor = some.at(-1)!.position;
    await store.ledger.commit({
      broadcastId: id,
      fenceToken: slice.fenceToken,
      slice: { number: slice.slice, fromCursor, cursor },
      rows: some.map((recipient) => ({
        recipient,
        origin: 'https://fcm.googleapis.com',
        attempts: 1,
        result,
      })),
      leaseMs,
    });
    fromCursor = cursor;
  };
  await commit(100, 'accepted');
  const [first, ...later] = (await reached()) as readonly {
    readonly seconds?: number;
    readonly precisionSeconds?: number;
  }[];
  const elapsed = Math.ceil((Date.now() - startAtMs) / 1000) + 1;
  assert.equal(first!.precisionSeconds, 1);
  assert.ok(first!.seconds! >= 1 && first!.seconds! <= elapsed, `${first!.seconds} of ${elapsed} s`);
  assert.deepEqual(later, [{ percent: 95 }, { percent: 99 }]);
  assert.match(
    wordsOf(await visitor.open(url)),
    /Time to 50 % \d+ s .* exact to 1 s Time to 95 % – not yet Time to 99 % – not yet/,
  );
  await commit(90, 'gone');
  assert.match(wordsOf(await visitor.open(url)), /Time to 95 % \d+ s .* Time to 99 % – not yet/);
  await store.broadcasts.cancel(id);
  assert.match(wordsOf(await visitor.open(url)), /Time to 99 % – so many never had an outcome/);
  assert.equal(
    'reachTimes' in (await operator.read<{ readonly items: readonly object[] }>('/v1/broadcasts')).items[0]!,
    false,
  );
});
