// Who gets into the console and stays there: tokens, sessions, forms of its own pages, and nobody else's.
import { formatSpan } from '../../src/errors/format-count.ts';
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import { htmlText } from '../../src/http/description/html.ts';
import { dayBars, roundUp, serviceCharts, toServiceBars } from '../../src/operator/console/charts.ts';
import {
  describeLocalTime,
  readLocalTime,
  toInterval,
  toLocalTime,
} from '../../src/operator/console/local-time-input.ts';
import { settlements } from '../../src/store/broadcasts.ts';
import type { OutcomeInterval } from '../../src/store/statistics.ts';
import { madeUpSubscription, noOutcomes, vapidPublicKey } from '../store/made-up-subscription.ts';
import { addSubscriptions, madeUpBroadcast } from '../store/store-under-test.ts';
import { createVisitor, decode, openConsole, signIn, wordsOf } from './console-visitor.ts';
import { type RunningOperator, startOperator, startStage } from './running-operator.ts';

const createBroadcast = async ({ store, sender }: RunningOperator) => {
  await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
  return (await sender.createBroadcast('all', { title: 'Hello', message: '' })).broadcast;
};

test('without a session a page leads to the sign-in page, and back to the page after it', async (t) => {
  const operator = await startOperator(t);
  const visitor = createVisitor(operator);
  await visitor.open('/console/broadcasts?state=running');
  const { url } = await visitor.submit('/console/sign-in', { token: await operator.add('ada', 'read') });
  assert.equal(url, '/console/broadcasts?state=running');
});

test('signing in leads to pages of the console only', async (t) => {
  const operator = await startOperator(t);
  const token = await operator.add('ada', 'read');
  for (const to of [
    'https://evil.example/',
    '//evil.example',
    '/console/../v1',
    '/console/"><b>',
    '/v1/keys',
  ]) {
    const visitor = createVisitor(operator);
    await visitor.open(`/console/sign-in?to=${encodeURIComponent(to)}`);
    assert.equal((await visitor.submit('/console/sign-in', { token, to })).url, '/console/', to);
  }
});

test('a wrong token, and one for metrics alone, is refused', async (t) => {
  const operator = await startOperator(t);
  const visitor = createVisitor(operator);
  for (const token of [
    '',
    'x',
    `${await operator.add('ada', 'full')}x`,
    await operator.add('meter', 'metrics'),
  ]) {
    await visitor.open('/console/sign-in');
    const { status, html } = await visitor.submit('/console/sign-in', { token });
    assert.equal(status, 403);
    assert.match(html, /This is not the token/);
    assert.equal(visitor.cookie, '');
  }
});

test('a token is taken from the form of a page of the console alone', async (t) => {
  const { base, add } = await startOperator(t);
  const body = new URLSearchParams({ token: await add('ada', 'full') });
  for (const headers of [{}, { origin: 'https://evil.example' }] as readonly Record<string, string>[]) {
    const response = await fetch(`${base}/console/sign-in`, { method: 'POST', body, headers });
    assert.equal(response.status, 403);
    assert.deepEqual(response.headers.getSetCookie(), []);
  }
});

test('the cookie is for the console and the browser alone, and secure where the listener is', async (t) => {
  const plain = await startOperator(t);
  const behindProxy = await startOperator(t, { isBehindProxy: true });
  for (const { base, add } of [plain, behindProxy]) {
    const isSecure = base === behindProxy.base;
    const response = await fetch(`${base}/console/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({ token: await add('ada', 'full') }),
      headers: { origin: isSecure ? base.replace('http:', 'https:') : base },
    });
    const [cookie] = response.headers.getSetCookie();
    assert.match(
      cookie!,
      isSecure
        ? /^deskbell_console=[\w-]{43}; Path=\/console; HttpOnly; SameSite=Strict; Secure$/
        : /^deskbell_console=[\w-]{43}; Path=\/console; HttpOnly; SameSite=Strict$/,
    );
  }
});

test('a session ends with signing out, and when its operator is removed', async (t) => {
  const operator = await startOperator(t);
  const visitor = await signIn(operator, 'read');
  const { cookie } = visitor;
  const other = await signIn(operator);
  await visitor.submit('/console/sign-out');
  visitor.cookie = cookie;
  assert.match((await visitor.open('/console/')).url, /sign-in/);

  assert.equal((await other.open('/console/')).url, '/console/');
  await operator.store.operators.remove('ada-full');
  assert.match((await other.open('/console/')).url, /sign-in/);
});

test('what changes something needs the token of the session and the origin of the page', async (t) => {
  const operator = await startOperator(t);
  const { id } = await createBroadcast(operator);
  const visitor = await signIn(operator);
  const { html } = await visitor.open(`/console/broadcasts/${id}`);
  const csrf = /name="csrf" value="([\w-]+)"/.exec(html)![1]!;
  const stranger = await signIn(operator, 'full', 'eve');
  const strangersCsrf = /name="csrf" value="([\w-]+)"/.exec(stranger.page.html)![1]!;
  const post = async (fields: Record<string, string>, headers: Record<string, string>) => {
    const response = await fetch(`${operator.base}/console/broadcasts/${id}/pause`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams(fields),
      headers: { cookie: visitor.cookie, ...headers },
    });
    return response.status;
  };
  const { base } = operator;
  const compare = t.mock.method(crypto, 'timingSafeEqual');
  syncBuiltinESMExports();
  t.after(() => {
    compare.mock.restore();
    syncBuiltinESMExports();
  });
  assert.equal(await post({ csrf }, {}), 403, 'no origin');
  assert.equal(await post({ csrf }, { origin: 'http://127.0.0.1:8080' }), 403, 'another origin');
  assert.equal(await post({ csrf }, { origin: base, 'sec-fetch-site': 'same-site' }), 403, 'another site');
  assert.equal(await post({}, { origin: base }), 403, 'no token');
  assert.equal(await post({ csrf: `${csrf.slice(0, -1)}é` }, { origin: base }), 403, 'a wrong token');
  assert.equal(await post({ csrf: strangersCsrf }, { origin: base }), 403, 'the token of another session');
  assert.equal(String(compare.mock.calls.at(-1)?.arguments[0]), strangersCsrf, 'compared in constant time');
  assert.equal((await operator.store.broadcasts.find(id))?.state, 'running');
  assert.equal(await post({ csrf }, { origin: base }), 303);
  assert.equal((await operator.store.broadcasts.find(id))?.state, 'paused');
});

test('every answer keeps browsers from framing it, and from loading anything from elsewhere', async (t) => {
  const operator = await startOperator(t);
  const { cookie } = await signIn(operator);
  // what is wrong with a request of nobody is said on a page alone
  const json = { origin: operator.base, 'content-type': 'application/json' };
  const wrong = { method: 'POST', headers: json, body: '{"token":"x"}' };
  const guess = {
    method: 'POST',
    headers: { origin: operator.base },
    body: new URLSearchParams({ token: 'x' }),
  };
  const opened = { headers: { cookie } };
  for (const [path, request, expected] of [
    ['/console/', opened, 200],
    ['/console/sign-in', opened, 200],
    ['/console/sign-in', wrong, 415],
    ['/console/sign-in', guess, 403],
    ['/console/broadcasts/999', opened, 404],
    ['/console/console.js', opened, 200],
  ] as const) {
    const { headers, status } = await fetch(operator.base + path, request);
    assert.equal(status, expected, path);
    assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
    assert.equal(headers.get('access-control-allow-origin'), null);
    if (!headers.get('content-type')!.startsWith('text/html')) continue;
    const policy = headers.get('content-security-policy')!;
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
    assert.match(policy, /form-action 'self'; .*frame-ancestors 'none'/);
    assert.match(policy, /^(?:[a-z-]+(?: 'self'| 'none'| data:)+(?:; |$))+$/, 'nothing from elsewhere');
    assert.equal(headers.get('cache-control'), 'no-store');
  }
});

// The texts of a message in other languages in the console's form, without a script, and what its readers see of them.

const message = { title: 'Good morning, {name|there}', message: 'It rains', placeholders: 'yes' };

test('languages are added to the form of a message and taken away again, and nothing that was typed is lost', async (t) => {
  const visitor = await signIn(await startOperator(t));
  await visitor.open('/console/send');
  const send = (fields: Record<string, string>) => visitor.submit('/console/send', fields);
  const added = await send({ ...message, newLanguage: 'DE-at', step: 'language' });
  assert.match(added.html, /name="languages" value="de-AT"/);
  assert.match(wordsOf(added), /Austrian German \(de-AT\) Title/);
  assert.match(added.html, /name="title" value="Good morning, {name\|there}"/);
  // also where the key Enter was pressed in the field
  const both = await send({ ...message, newLanguage: 'pt', 'texts.de-AT.title': 'Griaß di' });
  assert.match(both.html, /name="languages" value="de-AT pt"/);
  assert.match(both.html, /name="texts.de-AT.title" value="Griaß di"/);
  for (const newLanguage of ['German!', 'x'.repeat(300), '{}']) {
    const { status, html } = await send({ ...message, newLanguage, 'texts.de-AT.title': 'Griaß di' });
    assert.equal(status, 400);
    assert.match(html, /data-fault="newLanguage"\s*>Give a BCP 47 language tag/);
    assert.match(html, /value="Griaß di"/);
    visitor.back();
  }
  const left = await send({ ...message, 'texts.de-AT.title': 'Griaß di', step: 'without de-AT' });
  assert.match(left.html, /name="languages" value="pt"/);
  assert.doesNotMatch(left.html, /Griaß di/);
});

test('what is wrong with a text is said at its field', async (t) => {
  const visitor = await signIn(await startOperator(t));
  const faultsOf = async (fields: Record<string, string>) =>
    (await visitor.draft({ ...message, languages: 'de', ...fields })).faults;
  assert.deepEqual(await faultsOf({}), {});
  for (const [name, value, fault] of [
    ['texts.de.title', 'Hallo {', /^The member texts\.de\.title of the message is not usable: the brace/],
    ['texts.de.actions.0.url', '//{name}', /could change its scheme or host/],
    ['actions.0.action', 'turn-off-channel', /is turn-off-channel, and the message is to no channel/],
    ['url', 'ftp://example.org', /give an http\(s\) URL/],
  ] as const) {
    const faults = await faultsOf({ 'actions.0.title': 'Read', [name]: value });
    assert.deepEqual(Object.keys(faults), [name]);
    assert.match(faults[name]!, fault);
  }
  await visitor.open('/console/send');
  const audience = { audience: 'tags', tagsAll: 'news' };
  const { status, html } = await visitor.submit('/console/send', {
    ...message,
    ...audience,
    title: 'Hello {name}',
  });
  assert.equal(status, 400);
  assert.match(html, /data-fault="title"\s*>The placeholder {name} in title of the message has no default/);
});

test('a preview shows a language, or what a person gets with their data, as text', async (t) => {
  const { operator, visitor } = await openConsole(t);
  await operator.store.readers.setPerson('ada', { data: { name: '<b>Ada</b>' }, language: 'pt-BR' });
  const fields = {
    ...message,
    languages: 'de pt',
    'actions.1.title': 'Read',
    'texts.de.title': 'Guten Morgen, {name|du}',
    'texts.pt.title': 'Bom dia, {name}',
    'texts.pt.actions.1.title': 'Ler',
  };
  const ask = async (asked: Record<string, string>) => {
    const { notes, previews } = await visitor.draft({ ...fields, ...asked });
    const [, title = '', action] = /data-sample="Title"[^>]*>([^<]*)<.*?<li>([^<]*)</s.exec(previews)!;
    return [decode(title), action, notes['shown']];
  };
  assert.deepEqual(await ask({}), ['Good morning, there', 'Read', 'The message’s own text.']);
  assert.deepEqual(await ask({ shownLanguage: 'de' }), [
    'Guten Morgen, du',
    'Read',
    'The text in German (de).',
  ]);
  // without a default, and without a person, it is shown as it is written
  assert.deepEqual(await ask({ shownLanguage: 'pt' }), [
    'Bom dia, {name}',
    'Ler',
    'The text in Portuguese (pt).',
  ]);
  const ofAda = [
    'Bom dia, <b>Ada</b>',
    'Ler',
    'The text in Portuguese (pt). The reader’s language is pt-BR.',
  ];
  assert.deepEqual(await ask({ shownUser: 'ada' }), ofAda);
  const [, , note] = await ask({ shownUser: 'nobody', shownLanguage: 'pt' });
  assert.equal(note, 'The text in Portuguese (pt). The person has no name.');

  const page = await visitor.compose({ ...fields, shownUser: 'ada', step: 'edit' });
  assert.match(page.html, /data-sample="Title"[^>]*>Bom dia, &lt;b&gt;Ada&lt;\/b&gt;</);
  const wrong = await visitor.submit('/console/send', { ...fields, title: 'Hello {', step: 'edit' });
  assert.match(wordsOf(wrong), /brace at character 7 belongs to no placeholder/);
});

test('this browser gets the text of the language, or of the person, that the preview is for', async (t) => {
  const operator = await startStage(t, []);
  const { store, userAgent } = operator;
  await store.readers.setPerson('ada', { data: { name: 'Ada' }, language: 'de' });
  const visitor = await signIn(operator);
  const subscription = JSON.stringify(await userAgent.subscribe((await store.vapidKeys.current())!));
  const fields = { ...message, languages: 'de', 'texts.de.title': 'Guten Morgen, {name|du}' };
  for (const [reader, title] of [
    [{}, 'Good morning, there'],
    [{ shownLanguage: 'de' }, 'Guten Morgen, du'],
    [{ shownUser: 'ada' }, 'Guten Morgen, Ada'],
  ] as const) {
    await visitor.compose({ ...fields, ...reader, subscription }, '/console/send/test');
    assert.equal(visitor.page.status, 200, visitor.page.html);
    const received = (await userAgent.nextMessage()).json() as { readonly title: string };
    assert.equal(received.title, title);
  }
  assert.equal(await store.subscriptions.count(), 0, 'it is not stored');
});

test('what is wrong with a message to this browser is said as JSON, which the script of the page shows', async (t) => {
  const visitor = await signIn(await startOperator(t));
  for (const [wrong, detail] of [
    [{ ttlSeconds: 'soon' }, '"TTL in seconds" must be a whole number, such as 10.'],
    [{ subscription: 'null' }, 'An object is needed, not null.'],
  ] as const) {
    await visitor.compose({ ...message, ...wrong }, '/console/send/test');
    assert.equal(visitor.page.status, 400, visitor.page.html);
    assert.deepEqual(JSON.parse(visitor.page.html), { said: `It was not sent: ${detail}` });
  }
});

test('the review estimates the readers of more than 10,000 subscriptions, the newest too, until all are to be counted', async (t) => {
  const { store, visitor } = await openConsole(t);
  await store.channels.put({ name: 'news', title: 'News', titles: {}, isOnByDefault: true });
  const rows = 12_346;
  await addSubscriptions(store, rows, 0, (index) => ({
    language: index % 2 === 0 ? 'de' : 'fr',
    channels: index < 7000 ? {} : { news: false },
  }));
  const fields = { languages: 'de', 'texts.de.title': 'Guten Morgen', audience: 'all', channel: 'news' };
  const first = wordsOf(await visitor.compose({ ...message, ...fields }));
  const about = (words: RegExp, exact: number): void => {
    const [, count = ''] = words.exec(first) ?? [];
    assert.ok(
      Math.abs(Number(count.replace(',', '')) - exact) < exact / 4,
      `${exact}: ${words.exec(first)?.[0] ?? first}`,
    );
  };
  about(/Recipients about ([\d,]+) subscriptions, an estimate/, 7000);
  about(/Send to about ([\d,]+) subscriptions/, 7000);
  about(/the message’s own about ([\d,]+)/, 3500);
  about(/German \(de\) about ([\d,]+)/, 3500);
  about(/about ([\d,]+) have the channel off/, rows - 7000);
  assert.match(first, /Estimated from [\d,]+ subscriptions of the audience, chosen at random;/);
  const exact = wordsOf(await visitor.submit('/console/send', { step: 'count' }));
  assert.match(exact, /Recipients 7,000 subscriptions/);
  assert.match(exact, /the message’s own 3,500/);
  assert.doesNotMatch(exact, /about|chosen at random/);
});

const zones = ['Europe/Berlin', 'America/New_York', 'Asia/Tokyo'];
const hourMs = 3_600_000;

/** What clocks show. */
const wallOf = (atMs: number, timeZone: string): string =>
  new Date(atMs).toLocaleString('sv-SE', { timeZone }).replace(' ', 'T').slice(0, 16);

/** Thirty people in three zones; the last six have the channel off. */
async function addReaders({ store }: Pick<RunningOperator, 'store'>): Promise<void> {
  await store.channels.put({ name: 'news', title: 'News', titles: {}, isOnByDefault: true });
  for (let index = 0; index < 30; index += 1) {
    const user = `user-${index}`;
    await store.subscriptions.put(madeUpSubscription(index), vapidPublicKey, {
      assign: { user, tags: ['letter'] },
    });
    await store.readers.setPerson(user, {
      language: ['de-AT', 'pt', 'fr'][index % 3]!,
      timeZone: zones[index % 3]!,
      ...(index >= 24 && { channels: { news: false } }),
    });
  }
}

/** Of two subscriptions in German, one in French and one with the channel off, that the last broadcasts were shown there. */
async function reportShown({ store }: Pick<RunningOperator, 'store'>, count: number): Promise<void> {
  const readers = await store.subscriptions.page({ afterId: 0, limit: 30 });
  for (let number = 0; number < count; number += 1) {
    const draft = madeUpBroadcast(store.now(), { receiptActions: [] });
    const { id: broadcastId } = (await store.broadcasts.create(draft)).broadcast;
    await store.broadcasts.cancel(broadcastId);
    await store.receipts.add(
      [0, 3, 5, 24].map((index) => ({ broadcastId, subscriptionId: readers[index]!.id, event: 'shown' })),
    );
  }
}

test('the review says how many get which text, who is left out, held or would get nothing, and the broadcast has all of it', async (t) => {
  const { operator, visitor } = await openConsole(t);
  await addReaders(operator);
  const nowMs = Date.now();
  const fields = {
    ...message,
    languages: 'de pt',
    'texts.de.title': 'Guten Morgen, {name|du}',
    'texts.pt.message': 'Chove',
    audience: 'tags',
    tagsAll: 'letter',
    channel: 'news',
  };
  const review = async (options: Record<string, string>) =>
    wordsOf(await visitor.compose({ ...fields, ...options }));
  // Tokyo's clocks show it no more
  const localTime = wallOf(nowMs + hourMs, zones[0]!);
  const atLocalTime = await review({ localTime, ifTimePassed: 'skip', zone: 'Europe/Berlin' });
  assert.match(atLocalTime, /Recipients 16 subscriptions/);
  assert.match(atLocalTime, /German \(de\) 8 Portuguese \(pt\) 8 6 have the channel off/);
  assert.match(atLocalTime, /8 are left out: their local time is over\. 16 get it later\. First .* Last /);
  assert.match(atLocalTime, new RegExp(`Local time ${localTime}`));

  const tokyo = Number(wallOf(nowMs, zones[2]!).slice(11, 13));
  const hour = (offset: number) => String((tokyo + offset + 24) % 24).padStart(2, '0');
  const quietHours = `${hour(-1)}:00-${hour(3)}:00`;
  const held = await review({ quietHours });
  assert.match(held, /Recipients 24 subscriptions/);
  assert.match(held, /the message’s own 8/);
  assert.match(held, /8 get it when their quiet hours end/);
  const expired = await review({ quietHours, ttlSeconds: '60' });
  assert.match(expired, /8 would get nothing: it expires before their quiet hours end/);
  assert.match(
    await review({ title: 'Hello {name}' }),
    /The placeholder {name} in title of the message has no default/,
  );

  const active = await review({ skipInactive: '2' });
  assert.match(active, /0 are left out as inactive: only broadcasts with receipts count, for 30 days\./);
  await reportShown(operator, 2);
  assert.match(await review({ skipInactive: '3' }), /0 are left out as inactive/);
  const skipping = { skipInactive: '2', testTag: 'letter' };
  const inactive = await review(skipping);
  assert.match(inactive, /Recipients 21 subscriptions/);
  assert.match(
    inactive,
    /6 have the channel off, and get nothing.* 3 are left out: they clicked on none of the last broadcasts shown to them\./,
  );
  assert.match(inactive, /Skip inactive 2/);
  // of one the local time is over, too
  const both = await review({ ...skipping, localTime, ifTimePassed: 'skip', zone: 'Europe/Berlin' });
  assert.match(both, /3 are left out: they clicked .* 7 are left out: their local time is over\./);
  // all of the test group get it
  assert.match(await review({ ...skipping, step: 'test' }), /Recipients 24 subscriptions/);
  await visitor.submit('/console/send/test-group');
  assert.match(wordsOf(visitor.page), /Sent to the test group: 24 subscriptions with the tag letter/);
  assert.match(await review({ skipInactive: '101' }), /Skip inactive.*must be a whole number from 1 to 100/);

  await visitor.compose({ ...fields, quietHours, skipInactive: '2', zone: 'Europe/Berlin' });
  const { url, html } = await visitor.submit('/console/send/confirm');
  const words = wordsOf(visitor.page);
  assert.match(words, /Left out 3 inactive: no click on the last 2 broadcasts shown to them/);
  const ofFirst = wordsOf(await visitor.open(`${url}?subscription=1`));
  assert.match(
    ofFirst,
    /left out It was left out, since its browser reported no click on the last 2 broadcasts/,
  );
  assert.match(words, /Text Recipients Portuguese \(pt\) 8 German \(de\) 6 the message’s own 7/);
  assert.match(words, /Time Recipients Time zones \S+ \S+ UTC 7 Asia\/Tokyo/);
  assert.match(words, new RegExp(`Channel news .*Quiet hours ${quietHours} Time zone Europe/Berlin`));
  assert.match(html, /Guten Morgen/);

  const copy = await visitor.open(`/console/send?from=${url.split('/').at(-1)}`);
  assert.match(copy.html, /name="languages" value="de pt"/);
  assert.match(copy.html, /<option value="news" selected>/);
  for (const value of [fields['texts.de.title'], fields.title, quietHours, 'Europe/Berlin'])
    assert.ok(copy.html.includes(`value="${value}"`), value);
});

// Times that operators type in their own zone, and durations in words.

const isoOf = (text: string, zone = ''): string =>
  new Date(readLocalTime(text, { zone }, 'startAt')).toISOString();

/** A check of an error's words, and of the field that it names. */
const fault = (pointer: string, words: RegExp) => (error: { fields?: readonly object[] } & Error) => {
  assert.match(error.message, words);
  assert.deepEqual(
    (error.fields as { pointer: string }[]).map((field) => field.pointer),
    [pointer],
  );
  return true;
};

test('a time is read in the zone of its form, in UTC where it names none', () => {
  for (const [text, zone, iso] of [
    ['2027-01-01T09:00', '', '2027-01-01T09:00:00.000Z'],
    ['2027-01-01T09:00', 'Europe/Berlin', '2027-01-01T08:00:00.000Z'],
    ['2027-07-01T09:00:30', 'Europe/Berlin', '2027-07-01T07:00:30.000Z'],
    ['2026-11-22T23:59', 'America/New_York', '2026-11-23T04:59:00.000Z'],
    ['2027-01-01', 'Asia/Kolkata', '2026-12-31T18:30:00.000Z'],
    // It comes twice: the first is meant.
    ['2027-10-31T02:30', 'Europe/Berlin', '2027-10-31T00:30:00.000Z'],
    ['2027-03-28T03:00', 'Europe/Berlin', '2027-03-28T01:00:00.000Z'],
  ] as const) {
    assert.equal(isoOf(text, zone), iso, `${text} ${zone}`);
    if (text.length === 16) assert.equal(toLocalTime(Date.parse(iso), { zone }), text);
  }
});

test('what is no time, or none in its zone, is refused in words that name it', () => {
  for (const text of ['tomorrow', '2027-02-31', '2027-02-31T10:00', '2027-01-01T25:00', '']) {
    assert.throws(() => isoOf(text), fault('/startAt', /is not a time; give one such as 2027-01-01T09:00/));
  }
  assert.throws(
    () => isoOf('2027-03-28T02:30', 'Europe/Berlin'),
    fault('/startAt', /^2027-03-28 02:30 does not exist in Europe\/Berlin/),
  );
  assert.throws(() => isoOf('2027-01-01', 'Mars/Base'), fault('/zone', /"Mars\/Base" is not a time zone/));
});

test('durations are said in the largest units that they have', () => {
  for (const [seconds, words] of [
    [0, '0 s'],
    [0.3, '1 s'],
    [65, '1 min 5 s'],
    [3909, '1 h 5 min'],
    [86_400, '1 day'],
    [90_061, '1 day 1 h'],
    [2_419_200, '28 days'],
    [3600 * 24 + 5, '1 day'],
  ] as const) {
    assert.equal(formatSpan(seconds), words);
  }
  assert.equal(formatSpan(90_061, 4), '1 day 1 h 1 min 1 s');
});

test('a time that was typed is described with its zone, its offset and how far it is, and says that it comes twice', () => {
  const nowMs = Date.UTC(2027, 0, 1);
  for (const [iso, zone, words] of [
    ['2027-01-01T03:00:00Z', 'UTC', '2027-01-01 03:00 UTC, in 3 h'],
    ['2027-01-01T00:00:20Z', 'UTC', '2027-01-01 00:00 UTC, in 20 s'],
    ['2027-01-03T04:10:00Z', 'America/St_Johns', '2027-01-03 00:40 America/St_Johns (UTC-03:30), in 2 days'],
    ['2026-12-31T23:55:00Z', 'Asia/Kathmandu', '2027-01-01 05:40 Asia/Kathmandu (UTC+05:45), 5 min ago'],
    [
      '2027-10-31T00:30:00Z',
      'Europe/Berlin',
      '2027-10-31 02:30 Europe/Berlin (UTC+02:00), the first of two times that day, in 303 days',
    ],
  ] as const)
    assert.equal(describeLocalTime(Date.parse(iso), { zone }, nowMs), words);
  // a year of which one digit is typed is long past, and no fault
  assert.equal(readLocalTime('0002-01-01T00:00', { zone: 'Europe/Berlin' }, 'startAt') < 0, true);
});

test('days of a list are whole days of the zone, whatever its clocks do', () => {
  for (const [zone, day, since, end] of [
    ['', '2027-01-01', '2027-01-01T00:00:00.000Z', '2027-01-02T00:00:00.000Z'],
    ['Europe/Berlin', '2027-03-28', '2027-03-27T23:00:00.000Z', '2027-03-28T22:00:00.000Z'],
    // there is no midnight: at 00:00 clocks show 01:00
    ['Africa/Cairo', '2026-04-24', '2026-04-23T22:00:00.000Z', '2026-04-24T21:00:00.000Z'],
  ] as const) {
    const { sinceMs, untilMs } = toInterval({ since: day, until: day, zone });
    assert.deepEqual(
      [sinceMs, untilMs].map((atMs) => new Date(atMs!).toISOString()),
      [since, end],
    );
  }
  assert.deepEqual(toInterval({ since: 'yesterday', until: '' }), { sinceMs: undefined, untilMs: undefined });
});

// Charts of the console: their scales, and the figures behind them.

const sinceMs = Date.UTC(2027, 0, 1, 9);
const stepMs = 60_000;
const axis = { sinceMs, stepMs, count: 4, ticks: ['4 min ago', '2 min ago', 'now'] } as const;

const interval = (
  pushService: string,
  minute: number,
  counts: Partial<OutcomeInterval>,
): OutcomeInterval => ({
  pushService,
  startMs: sinceMs + minute * stepMs,
  widthMs: 10_000,
  attempts: 0,
  ...noOutcomes,
  ...counts,
});

test('each outcome has a colour of its own in charts', () => {
  const css = readFileSync(new URL('../../src/client/console/console.css', import.meta.url), 'utf8');
  const coloursOf = (outcome: string) =>
    new RegExp(String.raw`\.fill-${outcome}\b[^{]*\{\s*fill: ([^;]+);`).exec(css)?.[1];
  const colours = settlements.map(coloursOf);
  assert.ok(!colours.includes(undefined), `${settlements}: ${colours}`);
  assert.equal(new Set(colours).size, settlements.length);
});

test('charts side by side have one scale, with a round end', () => {
  const intervals = [
    interval('large', 0, { attempts: 1500, accepted: 1500 }),
    interval('small', 0, { attempts: 150, accepted: 150 }),
  ];
  const text = htmlText(serviceCharts(toServiceBars(intervals, axis), axis, ''));
  const ends = [...text.matchAll(/<text[^>]*>\s*([^<]*?)\s*<\/text>/g)].map(([, mark]) => mark);
  assert.deepEqual(ends, ['2K', '0', '2K', '0']);
  const heights = [...text.matchAll(/class="fill-accepted" d="M[\d.]+ [\d.]+h[\d.]+v([\d.]+)h/g)].map(
    ([, v]) => Number(v),
  );
  assert.equal(heights.length, 2);
  assert.ok(Math.abs(heights[0]! / heights[1]! - 10) < 0.2, heights.join(' '));
  for (const [value, round] of [
    [0, 0],
    [1, 1],
    [3, 4],
    [7, 8],
    [61, 80],
    [100, 100],
    [101, 200],
    [1234, 2000],
  ] as const) {
    assert.equal(roundUp(value), round);
  }
});

test('the figures behind a chart name each bar that has something, by push service', () => {
  const intervals = [
    interval('one.example', 1, { attempts: 1300, accepted: 1200, gone: 3, rejected: 97 }),
    interval('two.example', 3, { attempts: 5, accepted: 5 }),
  ];
  const text = htmlText(serviceCharts(toServiceBars(intervals, axis), axis, ''));
  assert.match(text, /Messages per minute, all to one scale/);
  const table = /<details class="figures">.*<\/details>/s.exec(text)![0];
  const rows = [...table.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].map(([, row]) =>
    [...row!.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell]) =>
      cell!.replaceAll(/<[^>]*>/g, '').trim(),
    ),
  );
  assert.deepEqual(rows, [
    ['From', 'accepted', 'gone', 'rejected'],
    ['one.example'],
    ['2027-01-01 09:01 UTC', '1,200', '3', '97'],
    ['two.example'],
    ['2027-01-01 09:03 UTC', '5', '', ''],
  ]);
});

const marksOf = (lost: number) =>
  [
    ...htmlText(dayBars([{ startMs: 0, gained: 200, lost }], 0, 3)).matchAll(
      /<text[^>]*>\s*([^<]*?)\s*<\/text>/g,
    ),
  ].map(([, mark]) => mark);

test('figures of a scale never stand on each other', () => {
  assert.deepEqual(marksOf(100), ['200', '0', '100']);
  assert.deepEqual(marksOf(9), ['200', '0']);
});

test('a day far above all others is cut, and says so', () => {
  const days = [
    { startMs: 0, gained: 80_000, lost: 100 },
    { startMs: 86_400_000, gained: 150, lost: 80 },
  ];
  const text = htmlText(dayBars(days, 0, 3));
  assert.match(text, /Cut, with a gap: 80,000 gained on 1970-01-01\.</);
  const marks = [...text.matchAll(/<text[^>]*>\s*([^<]*?)\s*<\/text>/g)].map(([, mark]) => mark);
  assert.deepEqual(marks, ['200', '0', '100']);
  assert.match(text, /80,150 gained · 180 lost/);
});

test('subscriptions by day have every day in the table, gained and lost to one scale', () => {
  const dayMs = 24 * 60 * 60 * 1000;
  const text = htmlText(dayBars([{ startMs: dayMs, gained: 100, lost: 50 }], 0, 3));
  const bars = ['gained', 'lost'].map((name) =>
    Number(new RegExp(`class="fill-${name}" d="M[\\d.]+ [\\d.]+h[\\d.]+v([\\d.]+)h`).exec(text)![1]),
  );
  assert.ok(Math.abs(bars[0]! / bars[1]! - 2) < 0.05, bars.join(' '));
  assert.deepEqual(
    [...text.matchAll(/<th scope="row">(.*?)<\/th>/g)].map(([, day]) => day),
    ['1970-01-01', '1970-01-02', '1970-01-03'],
  );
});
