// The texts of a message in other languages in the console's form, without a script, and what its readers see of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signIn, wordsOf } from './console-visitor.ts';
import { madeUpSubscription, vapidPublicKey } from '../store/made-up-subscription.ts';
import { madeUpBroadcast } from '../store/store-under-test.ts';
import { startOperator, startStage, type RunningOperator } from './running-operator.ts';

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
  const faultsOf = async (fields: Record<string, string>) => {
    await visitor.open('/console/send');
    const given = { ...message, languages: 'de', ...fields };
    const { html } = await visitor.post('/console/send', '/console/send/draft', given);
    return (JSON.parse(html) as { readonly faults: Record<string, string> }).faults;
  };
  assert.deepEqual(await faultsOf({}), {});
  for (const [name, value, fault] of [
    ['texts.de.title', 'Hallo {', /^The member texts\.de\.title of the message is not usable: the brace/],
    ['texts.de.actionUrl0', '//{name}', /could change its scheme or host/],
    ['actionName0', 'turn-off-channel', /is turn-off-channel, and the message is to no channel/],
    ['url', 'ftp://example.org', /give an http\(s\) URL/],
  ] as const) {
    const faults = await faultsOf({ actionTitle0: 'Read', [name]: value });
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
  const operator = await startOperator(t);
  await operator.store.readers.setPerson('ada', { data: { name: '<b>Ada</b>' }, language: 'pt-BR' });
  const visitor = await signIn(operator);
  const fields = {
    ...message,
    languages: 'de pt',
    actionTitle1: 'Read',
    'texts.de.title': 'Guten Morgen, {name|du}',
    'texts.pt.title': 'Bom dia, {name}',
    'texts.pt.actionTitle1': 'Ler',
  };
  const ask = async (asked: Record<string, string>) => {
    await visitor.open('/console/send');
    const { html } = await visitor.post('/console/send', '/console/send/draft', { ...fields, ...asked });
    const { notes, shown } = JSON.parse(html) as Record<'notes' | 'shown', Record<string, string>>;
    return [shown['title'], shown['actionTitle0'], notes['shown']];
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

  await visitor.open('/console/send');
  const page = await visitor.submit('/console/send', { ...fields, shownUser: 'ada', step: 'edit' });
  assert.match(page.html, /data-shows="title" dir="auto">Bom dia, &lt;b&gt;Ada&lt;\/b&gt;</);
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
    await visitor.open('/console/send');
    await visitor.post('/console/send', '/console/send/test', { ...fields, ...reader, subscription });
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
    await visitor.open('/console/send');
    await visitor.post('/console/send', '/console/send/test', { ...message, ...wrong });
    assert.equal(visitor.page.status, 400, visitor.page.html);
    assert.deepEqual(JSON.parse(visitor.page.html), { detail });
  }
});

test('the review estimates the readers of more than 10,000 subscriptions, the newest too, until all are to be counted', async (t) => {
  const operator = await startOperator(t);
  const { store } = operator;
  await store.channels.put({ name: 'news', title: 'News', titles: {}, isOnByDefault: true });
  const rows = 12_346;
  await store.subscriptions.putAll(
    Array.from({ length: rows }, (_, index) => ({
      subscription: madeUpSubscription(index),
      vapidPublicKey,
      language: index % 2 === 0 ? 'de' : 'fr',
      channels: index < 7000 ? {} : { news: false },
    })),
  );
  const visitor = await signIn(operator);
  await visitor.open('/console/send');
  const fields = {
    ...message,
    languages: 'de',
    'texts.de.title': 'Guten Morgen',
    audience: 'all',
    channel: 'news',
  };
  const first = wordsOf(await visitor.submit('/console/send', fields));
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
  const operator = await startOperator(t);
  await addReaders(operator);
  const visitor = await signIn(operator);
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
  const review = async (options: Record<string, string>) => {
    await visitor.open('/console/send');
    return wordsOf(await visitor.submit('/console/send', { ...fields, ...options }));
  };
  // Tokyo's clocks show it no more
  const localTime = wallOf(nowMs + hourMs, zones[0]!);
  const atLocalTime = await review({ localTime, ifTimePassed: 'skip', zone: 'Europe/Berlin' });
  assert.match(atLocalTime, /Recipients 16 subscriptions/);
  assert.match(atLocalTime, /German \(de\) 8 Portuguese \(pt\) 8 6 have the channel off/);
  assert.match(atLocalTime, /8 are left out: their local time is over\. First .* Last /);
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

  await visitor.open('/console/send');
  await visitor.submit('/console/send', { ...fields, quietHours, skipInactive: '2', zone: 'Europe/Berlin' });
  const { url, html } = await visitor.submit('/console/send/confirm');
  const words = wordsOf(visitor.page);
  assert.match(words, /Left out 3 inactive: no click on the last 2 broadcasts shown to them/);
  const ofFirst = wordsOf(await visitor.open(`${url}?subscription=1`));
  assert.match(
    ofFirst,
    /left out It was left out, since its browser reported no click on the last 2 broadcasts/,
  );
  assert.match(words, /Text Recipients German \(de\) 6 Portuguese \(pt\) 8 the message’s own 7/);
  assert.match(words, /Time Recipients Time zones \S+ \S+ UTC 7 Asia\/Tokyo/);
  assert.match(words, new RegExp(`Channel news .*Quiet hours ${quietHours} Time zone Europe/Berlin`));
  assert.match(html, /Guten Morgen/);

  const copy = await visitor.open(`/console/send?from=${url.split('/').at(-1)}`);
  assert.match(copy.html, /name="languages" value="de pt"/);
  assert.match(copy.html, /<option value="news" selected>/);
  for (const value of [fields['texts.de.title'], fields.title, quietHours, 'Europe/Berlin'])
    assert.ok(copy.html.includes(`value="${value}"`), value);
});
