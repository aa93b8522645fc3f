// What the console's pages show and do, without a browser: real requests to a real listener with a real database.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWarningReader } from '../../src/delivery/alarms/installation-warnings.ts';
import { DeskbellError } from '../../src/errors/deskbell-error.ts';
import type { Store } from '../../src/store/store.ts';
import {
  idlePushService,
  madeUpSubscription,
  vapidPublicKey,
  workerReport,
} from '../store/made-up-subscription.ts';
import {
  addSubscriptions,
  commitNext,
  commitSlices,
  madeUpBroadcast,
  madeUpSchedule,
  recordAnswer,
  withResult,
} from '../store/store-under-test.ts';
import { decode, openConsole, signIn, type Visitor, wordsOf } from './console-visitor.ts';
import { type RunningOperator, startOperator } from './running-operator.ts';

/** Markup, an attribute's end, a terminal's escape, and a character that turns text around. */
const hostile = `<img src=x onerror=alert(1)>"'&\u001B[31m\u202E`;
/** As names and labels are. */
const label = hostile.replaceAll(/\p{Cc}/gu, '');
const escaped = /&lt;img src=x onerror=alert\(1\)&gt;&quot;&#39;&amp;/;

/** A broadcast whose rows were refused, in words that somebody else chose. */
async function refusedBroadcast(
  { store, sender }: RunningOperator,
  message = { title: hostile, message: hostile },
) {
  const { broadcast } = await sender.createBroadcast('all', message, { topic: label });
  const { id } = broadcast;
  await commitSlices(
    store,
    id,
    withResult('https://fcm.googleapis.com', 'rejected', {
      record: {
        atMs: Date.now(),
        attempt: 1,
        status: 403,
        reason: 'vapid-refused',
        detail: hostile,
      },
      alarm: { reason: 'vapid-refused', detail: hostile },
    }),
  );
  return id;
}

const accept = withResult('https://fcm.googleapis.com', 'accepted');

const addPeople = async (store: Store, count: number) =>
  addSubscriptions(store, count, 0, (index) => ({
    assign: {
      user: index === 0 ? `${hostile}`.replaceAll(/\p{Cc}/gu, '') : `user-${index}`,
      tags: ['news'],
    },
  }));

/** The pages that links lead to from the overview, each with its HTML. */
async function followLinks(visitor: Visitor): Promise<ReadonlyMap<string, string>> {
  const found = new Map([['/console/', '']]);
  for (const path of found.keys()) {
    const { html } = await visitor.open(path);
    found.set(path, html);
    for (const [, link] of html.matchAll(/<a [^>]*href="(\/console\/[^"#]*)/g))
      if (!found.has(decode(link!))) found.set(decode(link!), '');
  }
  return found;
}

test('what strangers wrote is text on every page, and no page shows an endpoint or a key of a subscription', async (t) => {
  const { operator, visitor } = await openConsole(t);
  await addPeople(operator.store, 3);
  const id = await refusedBroadcast(operator);
  const message = { title: hostile, message: hostile };
  await operator.store.schedules.add(madeUpSchedule({ message, topic: hostile }));
  await operator.store.audit.begin({ operator: 'shop', action: 'broadcast.pause', target: hostile });
  const ofNews = { title: label, titles: { de: label }, isOnByDefault: true };
  await operator.store.channels.put({ name: 'news', ...ofNews });
  await operator.store.readers.setPerson('user-1', { data: { name: hostile }, channels: { news: false } });
  const paths = [
    '/console/',
    '/console/broadcasts',
    `/console/broadcasts?text=${encodeURIComponent(hostile)}`,
    `/console/broadcasts/${id}`,
    `/console/broadcasts/${id}?user=${encodeURIComponent('<img src=x onerror=alert(1)>"\'&')}`,
    '/console/subscriptions',
    `/console/subscriptions?user=${encodeURIComponent(hostile)}&pushService=${encodeURIComponent(hostile)}`,
    '/console/subscriptions/1',
    `/console/people?user=${encodeURIComponent('<img src=x onerror=alert(1)>"\'&')}`,
    `/console/people/remove?user=${encodeURIComponent(hostile)}`,
    '/console/people?user=user-1',
    '/console/channels',
    '/console/channels/edit?name=news',
    '/console/channels/remove?name=news',
    '/console/subscriptions/1/remove',
    '/console/subscriptions/visits',
    `/console/subscriptions?done=${encodeURIComponent(hostile)}`,
    '/console/push-services',
    `/console/send?title=${encodeURIComponent(hostile)}&icon=${encodeURIComponent(hostile)}`,
    `/console/sign-in?to=${encodeURIComponent(hostile)}`,
    `/console/broadcasts/${encodeURIComponent(hostile)}`,
    '/console/keys',
    '/console/schedules',
    '/console/schedules/1',
    '/console/schedules/1/remove',
    `/console/audit?operator=${encodeURIComponent(hostile)}`,
    '/console/audit',
  ];
  let shown = 0;
  for (const path of paths) {
    const { html } = await visitor.open(path);
    assert.doesNotMatch(html, /<img src=x/, path);
    // A field of a form, and the preview, hold what this operator has typed.
    const words = html.replaceAll(
      / value="[^"]*"|<textarea[^]*?<\/textarea>|<div class="notification"[^]*?<\/div>/g,
      '',
    );
    for (const character of ['\u001B', '\u202E']) assert.ok(!words.includes(character), path);
    if (escaped.test(html)) shown += 1;
    assert.doesNotMatch(html, /fcm\/send|eeeeeeee/, path);
    for (const index of [0, 1, 2]) {
      for (const secret of [madeUpSubscription(index).auth, madeUpSubscription(index).p256dh]) {
        for (const encoding of ['base64', 'base64url', 'hex'] as const) {
          assert.ok(!html.includes(Buffer.from(secret).toString(encoding).slice(0, 20)), path);
        }
      }
    }
  }
  assert.ok(shown >= 13, `${shown} pages show it`);
});

test('no page leads who may only look to one that is there for a change', async (t) => {
  const operator = await startOperator(t);
  const { store } = operator;
  await addPeople(store, 2);
  await refusedBroadcast(operator);
  await operator.sender.createBroadcast('all', { title: 'Hello', message: '' });
  await store.schedules.add(madeUpSchedule());
  await store.channels.put({ name: 'news', title: 'News', titles: {}, isOnByDefault: true });
  for (let index = 10; index < 40; index += 1) {
    const subscription = await store.subscriptions.put(madeUpSubscription(index), vapidPublicKey);
    await recordAnswer(store, subscription, 'gone', 'https://fcm.googleapis.com');
  }
  const reader = await signIn(operator, 'read');
  const found = await followLinks(reader);
  for (const path of ['/console/broadcasts/2', '/console/schedules/1', '/console/people?user=user-1'])
    assert.ok(found.has(path), path);
  const forChange = [...found].filter(([, html]) => html.includes('You may look, and change nothing'));
  // the page itself stands in the navigation of each
  assert.deepEqual(
    forChange.map(([path]) => path),
    ['/console/send'],
  );
  for (const path of ['broadcasts/2/cancel', 'channels/edit', 'bells/add']) {
    const { html } = await reader.open(`/console/${path}`);
    assert.match(html, /You may look, and change nothing/, path);
    assert.doesNotMatch(html, /<form method="post" action="\/console\/(?!sign-out)/, path);
  }
});

test('Persian and emoji are shown as they are written, and a user that imitates another is not', async (t) => {
  const { operator, visitor } = await openConsole(t);
  // joiners within a word and an emoji, a flag of tag characters, and a length at which a list cuts
  const title =
    'می\u200Cخواهم 👨\u200D👩\u200D👧 \u{1F3F4}\u{E0067}\u{E0062}\u{E0077}\u{E006C}\u{E0073}\u{E007F}';
  const long = '👨\u200D👩\u200D👧'.repeat(30);
  await operator.store.subscriptions.put(madeUpSubscription(1), vapidPublicKey, {
    assign: { user: 'ad\u200Ba\u202Egnp.exe' },
  });
  await operator.sender.createBroadcast('all', { title, message: '' });
  await operator.sender.createBroadcast('all', { title: long, message: '' });
  await operator.store.schedules.add(
    madeUpSchedule({ message: { title, message: title }, ttlSeconds: 5400 }),
  );
  for (const path of [
    '/console/',
    '/console/broadcasts',
    '/console/broadcasts/1',
    '/console/schedules',
    '/console/schedules/1',
    '/console/schedules/1/remove',
  ]) {
    assert.ok((await visitor.open(path)).html.includes(`<bdi>${title}</bdi>`), path);
  }
  assert.match(wordsOf(await visitor.open('/console/schedules/1')), /TTL 1 h 30 min /);
  const [, cut] = /<bdi>([^<]*)…<\/bdi>/.exec((await visitor.open('/console/broadcasts')).html)!;
  assert.match(cut!, /^(👨\u200D👩\u200D👧)+$/u, 'whole characters');
  const words = wordsOf(await visitor.open('/console/subscriptions'));
  assert.ok(words.includes(String.raw`ad\u200ba\u202egnp.exe`));
});

test('one search finds a user, an id, the end of an endpoint and words, and opens what alone fits', async (t) => {
  const { store, sender, visitor } = await openConsole(t, {}, 'read');
  await addPeople(store, 3);
  for (const title of ['Tea is ready', 'More tea', 'Lunch'])
    await sender.createBroadcast('all', { title, message: '' });
  await store.schedules.add(madeUpSchedule());
  const search = (text: string) => visitor.open(`/console/search?q=${encodeURIComponent(text)}`);
  const { endpoint } = (await store.subscriptions.findById(3))!;
  for (const [text, url] of [
    ['user-2', '/console/people?user=user-2'],
    [' 2 ', '/console/search?q=%202%20'],
    ['3', '/console/search?q=3'],
    [endpoint, '/console/subscriptions/3'],
    ['lunch', '/console/broadcasts/3'],
  ] as const)
    assert.equal((await search(text)).url, url, text);
  assert.match(wordsOf(await search('3')), /Subscription 3 3 Broadcast 3 Lunch/);
  assert.match(wordsOf(await search('TEA')), /Broadcast 2 More tea Broadcast 1 Tea is ready/);
  assert.match(visitor.page.html, /name="q"[^>]*value="TEA"/);
  // all have the same end
  const words = wordsOf(await search(endpoint.slice(-8)));
  assert.match(words, /Subscription 1 1 Subscription 2 2 Subscription 3 3/);
  assert.match(wordsOf(await search('nothing')), /Nothing was found for “nothing”\./);
  assert.match(wordsOf(await search(hostile)), /Nothing was found for “&lt;img/);
  assert.equal((await search('x'.repeat(5000))).status, 200);
});

test('the page of keys names the contact in tokens, who names it, and whether Apple takes it', async (t) => {
  const { operator, visitor } = await openConsole(t);
  assert.match(wordsOf(await visitor.open('/console/keys')), /No process is sending now\./);
  for (const [processId, subject] of [
    'mailto:ops@example.org',
    'mailto:ops@host.internal',
    undefined,
  ].entries())
    await operator.store.senders.put({ ...workerReport, id: `sender-${processId}`, processId, subject });
  const words = wordsOf(await visitor.open('/console/keys'));
  assert.match(words, /mailto:ops@example\.org push-1, process 0 takes it/);
  assert.match(
    words,
    /mailto:ops@host\.internal push-1, process 1 refuses it BadJwtToken: Apple takes no VAPID subject at host\.internal/,
  );
  assert.doesNotMatch(words, /process 2/);
});

test('a path of the console that does not exist is a page of it', async (t) => {
  const visitor = await signIn(await startOperator(t));
  for (const path of ['/console/nothing', '/console/broadcasts/1/nothing', '/console/broadcasts/7']) {
    const { status, html } = await visitor.open(path);
    assert.equal(status, 404, path);
    assert.match(html, /^<!doctype html>.*<nav aria-label="Pages">/s);
  }
  visitor.cookie = '';
  const { status, html } = await visitor.open('/console/nothing');
  assert.equal(status, 404);
  assert.match(html, /<h1>/);
  assert.doesNotMatch(html, /<nav/);
});

test('the overview says what is wrong with the installation, beside the alarms of broadcasts', async (t) => {
  const operator = await startOperator(t);
  const visitor = await signIn(operator);
  assert.match(wordsOf(await visitor.open('/console/')), /nothing is wrong/);
  await operator.store.sending.pause('restored');
  const later = await startOperator(t, { readWarnings: createWarningReader(operator.store) });
  const words = wordsOf(await (await signIn(later)).open('/console/'));
  assert.match(words, /Sending is paused .*restored from a backup.*run &quot;deskbell sending resume&quot;/);
  assert.doesNotMatch(words, /nothing is wrong/);
});

const failAsFull = async () => {
  throw new DeskbellError('ERR_STORE_UNAVAILABLE', 'The disk of the database is full.');
};

test('with a full disk one signs in to look for 15 minutes, and the overview names the fault', async (t) => {
  let nowMs = Date.now();
  const operator = await startOperator(t, { now: () => nowMs });
  const { store } = operator;
  t.mock.method(store.operators, 'startSession', failAsFull);
  t.mock.method(store, 'check', failAsFull);
  const visitor = await signIn(operator);
  const words = wordsOf(visitor.page);
  assert.match(words, /You may look for 15 minutes, and change nothing/);
  assert.match(words, /The database cannot be written The disk of the database is full\./);
  assert.doesNotMatch(words, /nothing is wrong|Acknowledge/);
  const logged = JSON.stringify(operator.records);
  assert.match(logged, /"console session only for reading","operator":"ada-full"/);
  const { cookie } = visitor;
  assert.ok(!logged.includes(cookie.split('=')[1]!));
  const csrf = /name="csrf" value="([^"]+)"/.exec(visitor.page.html)![1]!;
  const change = await fetch(`${operator.base}/console/alarms/acknowledge`, {
    method: 'POST',
    body: new URLSearchParams({ csrf, alarm: 'store-failed', note: 'I know.' }),
    headers: { cookie, origin: operator.base },
  });
  assert.equal(change.status, 403);
  const isSignedIn = async (name: string): Promise<boolean> => {
    visitor.cookie = name;
    return !(await visitor.open('/console/')).html.includes('action="/console/sign-in"');
  };
  const [head, id, endsAtMs, seal] = cookie.split('.');
  assert.equal(await isSignedIn([head, id, Number(endsAtMs) + 1, seal].join('.')), false, 'a later end');
  assert.equal(await isSignedIn([head, Number(id) - 1, endsAtMs, seal].join('.')), false, 'of another');
  nowMs += 15 * 60_000 - 1;
  assert.equal(await isSignedIn(cookie), true);
  nowMs += 1;
  assert.equal(await isSignedIn(cookie), false, 'its time is over');
  nowMs -= 1;
  await store.operators.remove('ada-full');
  assert.equal(await isSignedIn(cookie), false, 'the operator was removed');
});

test('an alarm says what it means and what to do; acknowledged on a page of its own, it says who knows of it', async (t) => {
  const { operator, visitor } = await openConsole(t);
  await addPeople(operator.store, 2);
  await refusedBroadcast(operator, { title: 'Hello', message: '' });
  const path = `/console/alarms/acknowledge?alarm=${encodeURIComponent('vapid-refused:fcm.googleapis.com')}`;
  const before = wordsOf(await visitor.open('/console/'));
  assert.match(before, /fcm\.googleapis\.com: The push service refuses our token\. .*Check the subject/);
  assert.match(before, /2 messages · since .* broadcast 1 .* its reason: “ &lt;img/);
  assert.ok(visitor.page.html.includes('<a href="/console/push-services">Push services</a>'));
  assert.ok(visitor.page.html.includes(`href="${path}"`), visitor.page.html);
  assert.match(wordsOf(await visitor.open(path)), /Check the subject.* Note for other operators/);
  assert.equal((await visitor.submit('/console/alarms/acknowledge', { note: ' ' })).status, 400);
  await visitor.submit('/console/alarms/acknowledge', { note: 'I ask them.' });
  assert.equal(visitor.page.url, '/console/');
  const words = wordsOf(visitor.page);
  assert.match(words, /Alarms 0 and 1 acknowledged/);
  assert.match(words, /ada-full knows of it since .*: “ I ask them\. ”/);
  const ended = await visitor.open('/console/alarms/acknowledge?alarm=no-worker');
  assert.match(wordsOf(ended), /This alarm does not stand any more/);
});

test('a push service that calls all subscriptions gone is not said to take messages, and a number leads to a message to them', async (t) => {
  // as the database's is where this machine's is wrong
  const nowMs = Date.now() - 3 * 24 * 60 * 60 * 1000;
  const { operator, store, visitor } = await openConsole(t, { now: () => nowMs });
  await addPeople(store, 30);
  const { broadcast } = await store.broadcasts.create(madeUpBroadcast(nowMs, { sliceRows: 100 }));
  await commitNext(store, (recipient) => ({ ...accept(recipient), result: 'gone' }), broadcast.id);
  const used = { ...idlePushService, origin: 'https://fcm.googleapis.com', connections: 1, answers: 30 };
  await store.senders.put({ ...workerReport, pushServices: [used] });
  const words = wordsOf(await visitor.open('/console/push-services'));
  assert.match(words, /fcm\.googleapis\.com calls nearly all gone/);
  assert.doesNotMatch(words, /takes messages/);
  const page = await visitor.open(`/console/broadcasts/${broadcast.id}`);
  const [, address] = /<a\s+href="([^"]*)"\s+title="Send to them"\s*>30</.exec(page.html)!;
  const { html } = await visitor.open(decode(address!));
  assert.match(html, /name="broadcast"[^>]*value="1"/);
  const fields = Object.fromEntries(new URL(decode(address!), operator.base).searchParams);
  const form = { title: 'Sorry', message: 'Once more', ...fields };
  const review = wordsOf(await visitor.submit('/console/send', form));
  assert.match(review, /Recipients 30 subscriptions Audience those said to have ended by broadcast 1/);
  await visitor.submit('/console/send/confirm');
  assert.match(wordsOf(visitor.page), /To those said to have ended by broadcast 1/);
  await visitor.compose({ ...form, outcome: 'shown' });
  assert.match(wordsOf(visitor.page), /Broadcast 1 did not ask for receipts/);
});

test('broadcasts are found by words, state and day', async (t) => {
  const { operator, visitor } = await openConsole(t);
  await addPeople(operator.store, 1);
  await operator.sender.createBroadcast('all', { title: 'Tea time', message: '' });
  await operator.sender.createBroadcast(
    'all',
    { title: 'Coffee', message: '' },
    { startAt: new Date('2037-01-01') },
  );
  const found = async (query: string) =>
    [
      ...(await visitor.open(`/console/broadcasts?${query}`)).html.matchAll(/<bdi>(Tea time|Coffee)<\/bdi>/g),
    ].map(([, title]) => title);
  assert.deepEqual(await found(''), ['Coffee', 'Tea time']);
  assert.deepEqual(await found('text=TEA'), ['Tea time']);
  assert.deepEqual(await found('state=scheduled'), ['Coffee']);
  assert.deepEqual(await found('since=2037-01-01&until=2037-01-01'), ['Coffee']);
  assert.deepEqual(await found('until=2030-12-31&state=done'), []);
  const inNewYork = 'zone=America/New_York';
  assert.deepEqual(await found(`since=2036-12-31&until=2036-12-31&${inNewYork}`), ['Coffee']);
  assert.deepEqual(await found(`since=2037-01-01&${inNewYork}`), []);
});

test('a message is composed, reviewed with its number of recipients, and sent once', async (t) => {
  const { operator, visitor } = await openConsole(t);
  await addPeople(operator.store, 5);
  const fields = {
    title: 'Ding "dong"',
    message: 'Tea is\r\nready',
    url: 'https://example.org/tea',
    'actions.0.title': 'Open',
    'actions.0.url': 'https://example.org/open',
    replace: 'tag',
    tag: 'tea',
    requireInteraction: 'no',
    data: '{"order": 7}',
    urgency: 'high',
    ttlSeconds: '60',
    audience: 'tags',
    tagsAll: 'news',
    startAt: '2037-01-01T09:00',
  };
  await visitor.compose(fields);
  assert.match(
    wordsOf(visitor.page),
    /Recipients 5 subscriptions Audience subscriptions with all of the tags news Start 2037-01-01 09:00 UTC/,
  );
  // Back to editing keeps every field.
  await visitor.submit('/console/send');
  assert.match(visitor.page.html, /name="title" value="Ding &quot;dong&quot;"/);
  assert.match(visitor.page.html, /Tea is\nready<\/textarea/);

  await visitor.submit('/console/send', fields);
  await visitor.submit('/console/send/confirm');
  assert.equal(visitor.page.url, '/console/broadcasts/1');
  // Sent again from the history of the browser, it is the same broadcast.
  visitor.back();
  await visitor.submit('/console/send/confirm');
  assert.equal(visitor.page.url, '/console/broadcasts/1');
  const broadcast = (await operator.store.broadcasts.find(1))!;
  assert.equal(broadcast.recipients, 5);
  assert.equal(broadcast.urgency, 'high');
  assert.equal(broadcast.startAtMs, Date.UTC(2037, 0, 1, 9));
  assert.deepEqual(JSON.parse(Buffer.from(broadcast.payload).toString()), {
    title: 'Ding "dong"',
    message: 'Tea is\nready',
    url: 'https://example.org/tea',
    actions: [{ title: 'Open', url: 'https://example.org/open', action: '0' }],
    tag: 'tea',
    requireInteraction: false,
    data: { order: 7 },
  });
});

test('what cannot be sent is said in words, and nothing that was typed is lost', async (t) => {
  const { operator, visitor } = await openConsole(t);
  for (const [fields, fault] of [
    [{ message: 'x'.repeat(4000) }, /at most 3993 fit into one push message/],
    [{ audience: 'ids' }, /Give the id of a subscription/],
    [{ audience: 'tags' }, /Give a tag in one of the three fields/],
    [{ audience: 'user' }, /Give the user whose devices get the message/],
    [{ replace: 'tag' }, /member tag of the message is not usable/],
  ] as const) {
    const { status, html } = await visitor.compose({ title: 'Kept', message: '', ...fields });
    assert.equal(status, 400);
    assert.match(html, fault);
    assert.match(html, /value="Kept"/);
  }
  assert.deepEqual(await operator.store.broadcasts.list({ limit: 1 }), []);
});

/** By the name of its field, in the order of the form: what is said beside each that is marked as wrong. */
const faultsOf = ({ html }: Visitor['page']): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...html.matchAll(/id="field-([\w.-]+)"[^>]*aria-invalid="true"/g)].map(([, name]) => [
      name!,
      decode(new RegExp(`data-fault="${name}">([^<]*)<`).exec(html)![1]!),
    ]),
  );

test('every field that is wrong is marked with its own sentence, and a list above the form leads to each', async (t) => {
  const { visitor } = await openConsole(t);
  const wrong = {
    title: 'Hello',
    url: 'javascript:alert(1)',
    ttlSeconds: '1h',
    quietHours: '25',
    perPerson: 'often',
    localTime: '9',
    timeZone: 'Mars',
    data: '{',
  };
  const page = await visitor.compose(wrong);
  assert.equal(page.status, 400);
  const faults = faultsOf(page);
  const { title: _right, ...names } = wrong;
  assert.deepEqual(Object.keys(faults).toSorted(), Object.keys(names).toSorted());
  assert.match(faults['ttlSeconds']!, /^"TTL in seconds" must be a whole number/);
  assert.match(faults['localTime']!, /^"Local time" must be a local time such as 09:00/);
  assert.match(page.html, /<div class="notice bad" role="alert" tabindex="-1" autofocus>/);
  const links = [...page.html.matchAll(/<a href="#field-([\w.-]+)">([^<]*)<\/a>/g)];
  assert.deepEqual(Object.fromEntries(links.map(([, name, text]) => [name, decode(text!)])), faults);
  assert.deepEqual((await visitor.draft(wrong)).faults, faults);
  const icons = await visitor.compose({ title: 'Hello', 'actions.0.title': 'Go', 'actions.0.icon': 'x:y' });
  assert.deepEqual(Object.keys(faultsOf(icons)), ['actions.0.icon']);
  const gap = await visitor.compose({
    title: 'Hello',
    'actions.1.title': 'Go',
    'actions.1.url': 'javascript:alert(1)',
  });
  assert.deepEqual(Object.keys(faultsOf(gap)), ['actions.1.url'], 'the first button is empty');
  assert.match(icons.html, /<details\s+class="card"\s+open\s*>\s*<summary>Buttons/);
});

test('a notification without title and text is refused at each step, and no preview invents one', async (t) => {
  const { operator, visitor } = await openConsole(t);
  await addSubscriptions(operator.store, 1);
  const blank = 'Title and text are both blank: give one of them.';
  await visitor.open('/console/send');
  const preview = /<strong data-sample="Title"[^>]*>([^<]*)</;
  assert.equal(preview.exec(visitor.page.html)![1], '');
  assert.deepEqual(faultsOf(visitor.page), {});
  for (const path of ['/console/send', '/console/send/confirm', '/console/send/test-group']) {
    const page = await visitor.compose({ title: ' ', message: '\n', testTag: 'test' }, path);
    assert.equal(page.status, 400, path);
    assert.deepEqual(faultsOf(page), { title: blank, message: blank });
  }
  const texts = { title: 'Hello', languages: 'de', 'texts.de.title': ' ' };
  assert.deepEqual(faultsOf(await visitor.compose(texts)), {
    message: 'Title and text in German (de) are both blank: give one of them.',
    'texts.de.title': 'Title and text in German (de) are both blank: give one of them.',
  });
  assert.deepEqual(await operator.store.broadcasts.list({ limit: 1 }), []);
});

test('a start is a time in the zone of the form, and what is past is refused', async (t) => {
  const { operator, visitor } = await openConsole(t);
  const review = async (startAt: string, zone: string) => {
    const page = await visitor.compose({ title: 'Hello', message: '', startAt, zone });
    return { status: page.status, html: page.html, words: wordsOf(page) };
  };
  const berlin = await review('2037-01-01T09:00', 'Europe/Berlin');
  assert.match(berlin.words, /Start 2037-01-01 09:00 Europe\/Berlin \(UTC\+01:00\), in \d+ years/);
  await visitor.submit('/console/send', {});
  assert.match(visitor.page.html, /Start \(<span data-zone>Europe\/Berlin<\/span>\)/);
  await review('2037-01-01T09:00', 'Europe/Berlin');
  await visitor.submit('/console/send/confirm');
  assert.equal((await operator.store.broadcasts.find(1))!.startAtMs, Date.UTC(2037, 0, 1, 8));

  // an hour from now in UTC is long past where clocks are behind
  const soon = new Date(Date.now() + 3_600_000).toISOString().slice(0, 16);
  assert.equal((await review(soon, 'UTC')).status, 200);
  assert.match((await review(soon, '')).words, /UTC, in (60|59) min/);
  const past = await review(soon, 'Asia/Tokyo');
  assert.equal(past.status, 400);
  assert.match(
    past.words,
    /The start, .* Asia\/Tokyo \(UTC\+09:00\), (8 h|8 h \d min|7 h 59 min) ago, is more than/,
  );
  assert.match(past.html, /name="startAt"[^>]* aria-invalid="true"/);
  assert.match(past.html, /data-fault="startAt">The start, /);
});

test('a year that is typed halfway is a time long past, and lists may end with the year 9999', async (t) => {
  const { visitor } = await openConsole(t);
  const zone = 'Europe/Berlin';
  for (const year of ['0002', '0020', '0202']) {
    const { faults } = await visitor.draft({ title: 'Hello', startAt: `${year}-01-01T09:00`, zone });
    assert.match(
      faults['startAt']!,
      new RegExp(`^The start, ${year}-01-01 09:00 .* is more than a minute ago`),
    );
  }
  const late = await visitor.compose({ title: 'Hello', startAt: '9999-12-31T09:00', zone });
  assert.match(faultsOf(late)['startAt']!, /is too late; give a time before the year 9999/);
  for (const list of ['audit', 'broadcasts']) {
    const { status } = await visitor.open(`/console/${list}?since=0026-01-01&until=9999-12-31&zone=${zone}`);
    assert.equal(status, 200, list);
  }
});

test('while a message is typed, the server says its size, its recipients, its start, and what does not fit', async (t) => {
  const { operator, visitor } = await openConsole(t);
  await addPeople(operator.store, 5);
  const ask = visitor.draft;
  const { notes, faults } = await ask({ audience: 'tags', tagsAll: 'news' });
  assert.deepEqual([notes, faults], [{ size: '25 of 3,993 bytes', recipients: '5 subscriptions' }, {}]);
  const large = await ask({ message: 'ä'.repeat(2000), icon: 'data:image/png;base64,AAAA' });
  assert.equal(large.notes['size'], '4,061 of 3,993 bytes, 68 too many');
  assert.match(
    large.faults['message']!,
    /^This has 4,002 bytes, and the message 68 more than the 3,993 that fit/,
  );
  assert.match(large.notes['icon']!, /data URL takes 26 bytes/);
  const other = await ask({
    receipts: 'yes',
    image: 'https://cdn.example.org/a.png',
    startAt: '2037-01-01T09:00',
    zone: 'Asia/Kathmandu',
    audience: 'tags',
    tagsNone: '!',
  });
  assert.match(other.notes['size']!, /^\d+ of 3,\d{3} bytes$/);
  assert.notEqual(other.notes['size']!.slice(-11), '3,993 bytes');
  assert.match(other.notes['image']!, /Each browser loads it from cdn\.example\.org/);
  assert.match(other.notes['startAt']!, /^2037-01-01 09:00 Asia\/Kathmandu \(UTC\+05:45\), in /);
  assert.match(other.faults['tagsNone']!, /A tag must be/);
  // the page itself says it too, for who has no script
  await visitor.open('/console/send?audience=tags&tagsAll=news');
  assert.match(wordsOf(visitor.page), /Recipients 5 subscriptions Size 25 of 3,993 bytes/);
  assert.match(visitor.page.html, /<option value="news">news: 5<\/option>/);
});

/** Of a message to the first ids. */
const toFirstIds = (count: number): Readonly<Record<string, string>> => ({
  title: 'Hello',
  message: '',
  audience: 'ids',
  ids: Array.from({ length: count }, (_, index) => index + 1).join(' '),
});

test('ids are looked up: 500 while they are typed, 2,500 in the review, and all of them to count exactly', async (t) => {
  const { operator, visitor } = await openConsole(t);
  await addPeople(operator.store, 3);
  const typed = async (count: number) => (await visitor.draft(toFirstIds(count))).notes['recipients'];
  const reviewed = async (count: number) => wordsOf(await visitor.compose(toFirstIds(count)));
  assert.equal(await typed(500), '3 subscriptions');
  assert.equal(await typed(501), 'at most 501 subscriptions, an estimate');
  assert.match(await reviewed(2500), /Recipients 3 subscriptions/);
  assert.match(await reviewed(2501), /Recipients at most 2,501 subscriptions, an estimate/);
  assert.match(
    wordsOf(await visitor.submit('/console/send', { step: 'count' })),
    /Recipients 3 subscriptions/,
  );
});

test('a message is previewed in four browsers, with what each of them never shows', async (t) => {
  const { visitor } = await openConsole(t);
  const previews = async (fields: Record<string, string>) => {
    const { html } = await visitor.open(`/console/send?${new URLSearchParams(fields)}`);
    return html
      .split('<figure ')
      .slice(1)
      .map((figure) => figure.split('</figure>')[0]!)
      .map((figure) => ({
        name: /<figcaption[^>]*><strong>([^<]*)/.exec(figure)?.[1],
        actions: [...figure.matchAll(/<li>([^<]*)<\/li>/g)].map(([, text]) => text),
        omitted: [...figure.matchAll(/<li><span[^>]*>([^<]*)/g)].map(([, text]) => text),
        html: figure,
      }));
  };
  const picture = 'data:image/png;base64,iVBORw0KGgo=';
  const actions = { 'actions.0.title': 'Open', 'actions.1.title': 'Call', 'actions.2.title': 'Later' };
  const [windows, linux, macos, android, ...others] = await previews({
    title: 'Ding',
    message: 'dong',
    icon: picture,
    image: 'https://example.org/i.png',
    badge: 'https://example.org/b.png',
    ...actions,
  });
  assert.deepEqual(others, []);
  for (const [preview, name, buttons, omitted] of [
    [windows!, 'Chrome on Windows', ['Open', 'Call'], ['badge', 'button 3']],
    [linux!, 'Firefox on Linux', [], ['image', 'badge']],
    [macos!, 'Safari on macOS', [], ['icon', 'image', 'badge', 'button 1', 'button 2', 'button 3']],
    [android!, 'Chrome on Android', [], ['button 3']],
  ] as const) {
    assert.equal(preview.name, name);
    assert.deepEqual(preview.actions, buttons, name);
    assert.deepEqual(preview.omitted, omitted, name);
    assert.match(preview.html, />Ding<\/strong>[^]*>dong<\/p>/, name);
    assert.equal(preview.html.includes(`src="${picture}"`), name !== 'Safari on macOS', name);
    // a picture of another host is not asked for
    assert.doesNotMatch(preview.html, /example\.org/);
  }
  const plain = await previews({ title: 'Ding' });
  assert.deepEqual(
    plain.flatMap(({ omitted }) => omitted),
    [],
  );
});

test('a message goes to the test group first, after a question with the number, and to nobody else', async (t) => {
  const { store, visitor } = await openConsole(t);
  await addPeople(store, 5);
  const fields = { title: 'Hello', message: 'World', startAt: '2037-01-01T09:00', audience: 'all' };
  const toGroup = (testTag: string) => visitor.compose({ ...fields, testTag, step: 'test' });
  assert.match((await toGroup('')).html, /Give the one tag that the test group has/);
  const none = await toGroup('test');
  assert.match(wordsOf(none), /Recipients 0 subscriptions .* No subscription has the tag test\./);
  assert.doesNotMatch(none.html, /action="\/console\/send\/test-group"/);

  for (const id of [2, 4]) await store.people.changeTags(id, { add: ['test'] });
  const asked = await toGroup('test');
  assert.match(wordsOf(asked), /Recipients 2 subscriptions .* Send to 2 subscriptions of the test group/);
  assert.deepEqual(await store.broadcasts.list({ limit: 1 }), []);
  await visitor.submit('/console/send/test-group');
  assert.match(
    wordsOf(visitor.page),
    /Sent to the test group: 2 subscriptions with the tag test Broadcast 1 shows what came of it/,
  );
  assert.match(visitor.page.html, /name="title" value="Hello"/);
  // sent again by accident, it is the same broadcast
  visitor.back();
  await visitor.submit('/console/send/test-group');
  const [broadcast, ...others] = await store.broadcasts.list({ limit: 9 });
  assert.deepEqual(others, []);
  assert.equal(broadcast!.recipients, 2);
  assert.ok(broadcast!.startAtMs <= Date.now(), 'it is sent now, whenever the audience gets it');

  // and then to all
  await visitor.submit('/console/send', fields);
  await visitor.submit('/console/send/confirm');
  assert.equal((await store.broadcasts.find(2))!.recipients, 5);
});

test('subscriptions are found by user, tags, push service and id; one is removed, and a person with all traces', async (t) => {
  const { operator, store, visitor } = await openConsole(t);
  await addPeople(store, 4);
  const count = async (query: string) =>
    (await visitor.open(`/console/subscriptions?${query}`)).html.match(
      /href="\/console\/subscriptions\/\d+"/g,
    )?.length ?? 0;
  assert.equal(await count(''), 4);
  assert.equal(await count('user=user-2'), 1);
  assert.equal(await count('tagsAll=news'), 4);
  assert.equal(await count('tagsNone=news'), 0);
  assert.equal(await count('tagsAny=sport'), 0);
  assert.equal(await count('tagsAny=sport,news'), 4);
  assert.equal(await count('pushService=fcm.googleapis.com'), 4);
  assert.equal(await count('pushService=web.push.apple.com'), 0);
  assert.match((await visitor.open('/console/subscriptions?tagsAll=a%20b!')).html, /A tag must be/);
  assert.equal((await visitor.open('/console/subscriptions?id=3')).url, '/console/subscriptions/3');
  for (const id of ['abc', '2,3']) {
    assert.equal(await count(`id=${id}`), 0);
    assert.match(visitor.page.html, /named by its number; give one, such as 7/);
    assert.match(visitor.page.html, new RegExp(`name="id" value="${id}"`));
  }
  await visitor.open('/console/subscriptions/3/remove');
  assert.match(wordsOf(visitor.page), /Remove 1 subscription\? .*Subscription 3 of user-2 is deleted/);
  await visitor.submit('/console/subscriptions/3/remove');
  assert.match(wordsOf(visitor.page), /Removed 1 subscription\. /);
  assert.equal(await store.subscriptions.count(), 3);
  await visitor.open('/console/people/remove?user=user-1');
  assert.match(wordsOf(visitor.page), /user user-1 is deleted: 1 subscription , broadcasts/);
  await visitor.submit('/console/people/remove');
  assert.match(wordsOf(visitor.page), /subscriptions 1/);
  assert.equal(await store.subscriptions.count(), 2);
  const [, receipt] = /Receipt: ([\w-]{22})/.exec(wordsOf(visitor.page))!;
  const { removedAt, by } = await operator.read<Record<string, unknown>>(
    `/v1/people/user-1/removal?receipt=${receipt}`,
  );
  assert.deepEqual([typeof removedAt, by], ['string', 'ada-full']);
  const others = await operator.read<Record<string, unknown>>(`/v1/people/user-2/removal?receipt=${receipt}`);
  assert.deepEqual(Object.keys(others), ['subscriptions']);
  const [proof] = await store.audit.list({ limit: 1 });
  assert.match(String(proof!.target), /^receipt [\w-]{43}$/);
});

test('a channel that the store cannot keep is a fault of the server, not of the form', async (t) => {
  const { operator, visitor } = await openConsole(t);
  await visitor.open('/console/channels/edit');
  t.mock.method(operator.store.channels, 'put', () =>
    Promise.reject(new DeskbellError('ERR_STORE_UNAVAILABLE', 'The disk is full.')),
  );
  const { status } = await visitor.submit('/console/channels/edit', { name: 'news', title: 'News' });
  assert.equal(status, 503);
});

test('channels are added, changed and removed, and a person’s choices are changed', async (t) => {
  const { store, visitor } = await openConsole(t);
  await visitor.open('/console/channels');
  assert.match(wordsOf(visitor.page), /No channels yet/);
  await visitor.open('/console/channels/edit');
  await visitor.submit('/console/channels/edit', { name: 'a b', title: 'News', titles: 'de Nachrichten' });
  assert.equal(visitor.page.status, 400);
  assert.match(wordsOf(visitor.page), /Write one line for each language, such as de: Nachrichten/);
  await visitor.submit('/console/channels/edit', { name: 'a b', title: 'News', titles: '' });
  assert.match(wordsOf(visitor.page), /The name of a channel must be 1 to 64 bytes/);
  const fields = { name: 'news', title: 'News', titles: 'de: Nachrichten\npt-br: Notícias', isOn: 'yes' };
  await visitor.submit('/console/channels/edit', { ...fields, name: ' news ' });
  assert.match(wordsOf(visitor.page), /News news de Nachrichten , pt-BR Notícias on Remove…/);
  await visitor.open('/console/channels/edit');
  await visitor.submit('/console/channels/edit', { name: 'news', title: 'Other' });
  assert.equal(visitor.page.status, 400);
  assert.match(wordsOf(visitor.page), /There is a channel of this name already/);
  await visitor.open('/console/channels/edit?name=news');
  await visitor.submit('/console/channels/edit', { ...fields, title: 'All news', isOn: '' });
  assert.deepEqual(await store.channels.list(), [
    {
      name: 'news',
      title: 'All news',
      titles: { de: 'Nachrichten', 'pt-BR': 'Notícias' },
      isOnByDefault: false,
    },
  ]);

  // somebody else changes it, and then removes it, while the form is open
  const [known] = await store.channels.list();
  const others = { ...known!, titles: { fr: 'Actualités' } };
  await visitor.open('/console/channels/edit?name=news');
  await store.channels.put(others);
  await visitor.submit('/console/channels/edit', { ...fields, isOn: '' });
  assert.equal(visitor.page.status, 400);
  assert.match(
    wordsOf(visitor.page),
    /Somebody has changed this channel since .* It is now: All news; fr: Actualités; off by default\. Save again/,
  );
  assert.deepEqual(await store.channels.list(), [others]);
  await visitor.submit('/console/channels/edit', { ...fields, title: 'All news', isOn: '' });
  assert.deepEqual(await store.channels.list(), [known]);
  await visitor.open('/console/channels/edit?name=news');
  await store.channels.remove('news');
  await visitor.submit('/console/channels/edit', { ...fields, title: 'All news', isOn: '' });
  assert.match(wordsOf(visitor.page), /Somebody has removed this channel since .* save again to add it anew/);
  assert.deepEqual(await store.channels.list(), []);
  await visitor.submit('/console/channels/edit', { ...fields, title: 'All news', isOn: '' });
  assert.deepEqual(await store.channels.list(), [known]);

  await store.readers.setPerson('ada', { data: { name: 'Ada' }, language: 'de' });
  const holding = async () => (await store.readers.choices({ user: 'ada' }))['news'];
  await visitor.open('/console/people?user=ada');
  assert.match(wordsOf(visitor.page), /Language de Time zone that of each browser Data: name Ada/);
  assert.match(wordsOf(visitor.page), /All news news off by default/);
  await visitor.submit('/console/people/choose');
  assert.match(wordsOf(visitor.page), /All news news on chosen Turn off Withdraw/);
  assert.equal(await holding(), true);
  await store.readers.setPerson('ada', { timeZone: 'Asia/Tokyo' });
  await visitor.submit('/console/people/choose', { choice: 'off' });
  assert.match(wordsOf(visitor.page), /Language de Time zone Asia\/Tokyo/);
  assert.match(wordsOf(visitor.page), /All news news off chosen Turn on Withdraw/);
  assert.equal((await store.readers.person('ada')).channels['news'], false);
  await visitor.submit('/console/people/choose', { choice: 'default' });
  assert.match(wordsOf(visitor.page), /All news news off by default/);
  assert.deepEqual((await store.readers.person('ada')).channels, {});

  await visitor.open('/console/channels/remove?name=news');
  assert.match(wordsOf(visitor.page), /Readers no longer see All news/);
  await visitor.submit('/console/channels/remove');
  assert.match(wordsOf(visitor.page), /Removed the channel\./);
  assert.deepEqual(await store.channels.list(), []);
});

test('held deletions are confirmed or discarded', async (t) => {
  const { store, visitor } = await openConsole(t);
  const origin = 'https://fcm.googleapis.com';
  const hold = async (first: number) => {
    for (let index = first; index < first + 30; index += 1) {
      const subscription = await store.subscriptions.put(madeUpSubscription(index), vapidPublicKey);
      await recordAnswer(store, subscription, 'gone', origin);
    }
    return (await store.heldDeletions.list())[0]?.subscriptions ?? 0;
  };
  assert.ok((await hold(0)) > 0);
  const before = await store.subscriptions.count();
  await visitor.open('/console/push-services');
  await visitor.submit('/console/held-deletions/discard');
  assert.match(wordsOf(visitor.page), /Kept \d\d subscriptions\. /);
  assert.deepEqual(await store.heldDeletions.list(), []);
  assert.equal(await store.subscriptions.count(), before);
  const held = await hold(100);
  assert.ok(held > 0);
  const { html } = await visitor.open('/console/push-services');
  assert.doesNotMatch(html, /<form[^>]*held-deletions\/confirm/, 'it is asked about first');
  await visitor.open(/href="([^"]*held-deletions\/confirm[^"]*)"/.exec(html)![1]!);
  assert.match(
    wordsOf(visitor.page),
    new RegExp(`Delete ${held} subscriptions\\? .*fcm\\.googleapis\\.com calls them gone`),
  );
  // more than the question was about is asked about again
  const more = await hold(200);
  assert.ok(more > held);
  const stored = await store.subscriptions.count();
  await visitor.submit('/console/held-deletions/confirm');
  assert.match(wordsOf(visitor.page), new RegExp(`Delete ${more} subscriptions\\? `));
  assert.equal(await store.subscriptions.count(), stored);
  await visitor.submit('/console/held-deletions/confirm');
  assert.match(wordsOf(visitor.page), new RegExp(`Deleted ${more} subscriptions\\. `));
  assert.equal(await store.subscriptions.count(), stored - more);
  assert.deepEqual(await store.heldDeletions.list(), []);
  const again = await visitor.open(`/console/held-deletions/confirm?origin=${origin}`);
  assert.equal(again.url, '/console/push-services', 'nothing is left to decide');
});

// The console's pages of schedules and of the audit, without a browser: what they show, and what their forms do.

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
  assert.match(
    wordsOf(visitor.page),
    /Removed the schedule\. Broadcasts that it made stay\..* No schedules yet/,
  );
  assert.deepEqual(await store.schedules.list(), []);
  assert.equal((await store.broadcasts.list({ limit: 9 })).length, 1);
  assert.equal((await visitor.open(`/console/schedules/${id}`)).status, 404);
});

test('a schedule whose message has no title is called by its text, everywhere', async (t) => {
  const { operator, visitor } = await openConsole(t);
  const { id } = await operator.store.schedules.add(
    madeUpSchedule({ message: { title: ' ', message: 'Tea is ready' } }),
  );
  const url = `/console/schedules/${id}`;
  assert.match(
    (await visitor.open('/console/schedules')).html,
    new RegExp(`<a href="${url}"><bdi>Tea is ready</bdi></a>`),
  );
  assert.match((await visitor.open(url)).html, /<p class="quiet"><bdi>Tea is ready<\/bdi><\/p>/);
  assert.match((await visitor.open(`${url}/remove`)).html, /<p class="quiet"><bdi>Tea is ready<\/bdi><\/p>/);
});

test('very many schedules come in pages, and who may read only changes none', async (t) => {
  const { operator, visitor } = await openConsole(t, {}, 'read');
  for (let count = 0; count < 30; count += 1) await operator.store.schedules.add(madeUpSchedule());
  const first = await visitor.open('/console/schedules');
  assert.equal(idsIn(first, 'schedules').length, 25);
  assert.doesNotMatch(first.html, /schedules\/\d+\/(?:pause|remove)/);
  const next = /href="(\/console\/schedules\?after=25)"/.exec(first.html)?.[1] ?? '';
  assert.deepEqual(idsIn(await visitor.open(next), 'schedules'), [26, 27, 28, 29, 30]);
});

test('the audit is found by operator, action and day in the address, and leads to what was changed', async (t) => {
  const { store, visitor } = await openConsole(t);
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

test('bells are added, shown with their last requests, and removed; their broadcasts are one row', async (t) => {
  const { operator, visitor } = await openConsole(t);
  await visitor.open('/console/bells/add');
  const fields = { name: 'alerts', audience: 'tags', tagsAll: 'ops', urgency: 'high', textFrom: '/a/b' };
  const refused = await visitor.submit('/console/bells/add', { ...fields, url: 'javascript:1', tagsAll: '' });
  assert.deepEqual([refused.status, /tag in one of/.test(refused.html)], [400, true]);
  const wrong = await visitor.submit('/console/bells/add', { ...fields, url: 'javascript:1' });
  assert.deepEqual([wrong.status, /id="fault-url" [^>]*>[^<]+</.test(wrong.html)], [400, true]);
  const added = await visitor.submit('/console/bells/add', fields);
  assert.match(added.html, /curl -d 'It works' http[^<]+\/ring\/A[\w-]{14}<[^]*Nobody gets it yet/);
  assert.ok(added.html.includes('/console/bells/show?name=alerts'));
  const [, first = ''] = /127\.0\.0\.1:\d+\/ring\/(A[\w-]{14})</.exec(added.html) ?? [];
  await visitor.open('/console/bells/add');
  const taken = await visitor.submit('/console/bells/add', fields);
  assert.equal(taken.status, 400);
  assert.match(taken.html, /name="name" value="alerts"[^]*There is a bell alerts already\./);
  await visitor.open('/console/bells/rotate?name=alerts');
  const rotated = await visitor.submit('/console/bells/rotate', { name: 'alerts' });
  const [, secret = ''] = /\/ring\/(A[\w-]{14})</.exec(rotated.html) ?? [];
  const former = await fetch(`${operator.base}/ring/${first}`, { method: 'POST' });
  assert.deepEqual([first === secret, former.status], [false, 401]);
  const ring = (body: object) =>
    fetch(`${operator.base}/ring/${secret}`, { method: 'POST', body: JSON.stringify(body) });
  for (let index = 0; index < 3; index += 1) await ring({ a: { b: `<b>Disk ${index}</b>` } });
  await ring({ c: 1 });
  assert.match((await visitor.open('/console/bells')).html, /href="\/console\/bells\/show\?name=alerts"/);
  const shown = await visitor.open('/console/bells/show?name=alerts');
  for (const words of [
    /&lt;b&gt;Disk 2&lt;\/b&gt;/,
    /not understood: <bdi>\{c: number\}/,
    /all of the tags ops/,
  ])
    assert.match(shown.html, words);
  assert.ok(!shown.html.includes(secret));
  // the newest stands for the others
  const list = await visitor.open('/console/broadcasts');
  assert.equal(list.html.match(/href="\/console\/broadcasts\/\d+"/g)!.length, 1);
  assert.match(list.html, /href="\/console\/broadcasts\?bell=alerts">and 3 more<\/a>/);
  const all = await visitor.open('/console/broadcasts?bell=alerts');
  assert.equal(all.html.match(/href="\/console\/broadcasts\/\d+"/g)!.length, 4);
  const { items } = await operator.read<{ items: readonly object[] }>('/v1/broadcasts?bell=alerts');
  assert.equal(items.length, 4);

  await visitor.open('/console/bells/remove?name=alerts');
  await visitor.submit('/console/bells/remove', { name: 'alerts' });
  assert.deepEqual(await operator.store.bells.list(), []);
});
