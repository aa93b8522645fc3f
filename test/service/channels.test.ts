// POST /webPush/channels: readers see and change their channels, by the `auth` of a subscription or by a subscriber token.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { createMiddleware } from '../../src/service/create-handler.ts';
import { createSubscriberToken } from '../../src/service/push/subscriber-token.ts';
import type { ServerOptions } from '../../src/service/options.ts';
import type { Store } from '../../src/store/store.ts';
import {
  assertProblem,
  newSubscription,
  sendJson,
  startService,
  startServiceForSuite,
  optionsFor,
  serveUntilEnd,
} from './running-service.ts';

const key = new Uint8Array(32).fill(7);
const audience = 'channel-test';
const options = {
  channels: true,
  subscriberTokens: { algorithm: 'HS256', key, audience },
} satisfies Partial<ServerOptions>;

async function addChannels(store: Store): Promise<void> {
  await store.channels.put({
    name: 'news',
    title: 'News',
    titles: { de: 'Nachrichten', 'pt-BR': 'Notícias' },
    isOnByDefault: true,
  });
  await store.channels.put({ name: 'offers', title: 'Offers', titles: {}, isOnByDefault: false });
}

const as = async (user: string) => ({
  authorization: `Bearer ${await createSubscriberToken({ key, audience, user })}`,
});

describe('POST /webPush/channels', () => {
  const service = startServiceForSuite(options);
  before(() => addChannels(service.store));

  const ask = (body: object, headers: Record<string, string> = {}) =>
    sendJson(service.base, 'POST', '/webPush/channels', body, headers);
  const isOn = async (body: object, headers?: Record<string, string>) => {
    const response = await ask(body, headers);
    assert.equal(response.status, 200);
    return Object.fromEntries(
      ((await response.json()) as { name: string; isOn: boolean }[]).map(({ name, isOn: on }) => [name, on]),
    );
  };
  const register = async (headers?: Record<string, string>) => {
    const subscription = newSubscription();
    const response = await sendJson(service.base, 'POST', '/webPush', subscription, headers);
    assert.equal(response.status, 200);
    return { endpoint: subscription.endpoint, auth: subscription.auth };
  };

  const asDefault = { news: true, offers: false };

  test('answers with all channels, and their titles in the language of the reader', async () => {
    const proof = await register();
    const titlesIn = async (language: string) =>
      (await (await ask(proof, { 'accept-language': language })).json()) as object[];
    const offers = { name: 'offers', title: 'Offers', isOn: false };
    const german = { name: 'news', title: 'Nachrichten', language: 'de', isOn: true };
    assert.deepEqual(await titlesIn('de-AT,de;q=0.9,en;q=0.5'), [german, offers]);
    assert.deepEqual(await titlesIn('DE'), [german, offers]);
    const brazilian = { name: 'news', title: 'Notícias', language: 'pt-BR', isOn: true };
    assert.deepEqual(await titlesIn('pt-BR,de;q=0.5'), [brazilian, offers]);
    const own = { name: 'news', title: 'News', isOn: true };
    for (const other of ['en-GB,de;q=0.5', 'pt-PT', '*', '', ';;', 'x'.repeat(500)])
      assert.deepEqual(await titlesIn(other), [own, offers], other);
  });

  test('what a person chooses holds on each of their browsers, by token and by subscription', async () => {
    const [one, two] = [await register(await as('ada')), await register(await as('ada'))];
    assert.deepEqual(await isOn({ ...one, choices: { news: false } }), { news: false, offers: false });
    assert.deepEqual(await isOn(two), { news: false, offers: false });
    assert.deepEqual(await isOn({ choices: { offers: true } }, await as('ada')), {
      news: false,
      offers: true,
    });
    assert.deepEqual(await isOn(one), { news: false, offers: true });
    assert.deepEqual((await service.store.readers.person('ada')).channels, { news: false, offers: true });
  });

  test('the person who is signed in chooses, on a browser that was registered for another one too', async () => {
    const browser = await register(await as('bob'));
    assert.deepEqual(await isOn({ ...browser, choices: { news: false } }, await as('eve')), {
      news: false,
      offers: false,
    });
    assert.deepEqual((await service.store.readers.person('bob')).channels, {});
    assert.deepEqual(await isOn(browser), asDefault, 'bob’s');
    assert.equal((await sendJson(service.base, 'DELETE', '/webPush/user', browser)).status, 204);
    assert.deepEqual(await isOn({ ...browser, choices: { offers: true } }), { news: true, offers: true });
    assert.deepEqual((await service.store.readers.person('bob')).channels, {}, 'nobody’s by then');
    const ofEve = { news: false, offers: false };
    assert.deepEqual(await isOn({ choices: {} }, await as('eve')), ofEve);
    assert.deepEqual(await isOn({ ...browser, auth: newSubscription().auth }, await as('eve')), ofEve);
    assert.deepEqual(
      await isOn(browser, await as('eve')),
      { ...ofEve, offers: true },
      'else the subscription’s own',
    );
  });

  test('a wrong auth changes nothing, and is answered as for a reader who has chosen nothing', async () => {
    const proof = await register();
    await ask({ ...proof, choices: { news: false } });
    for (const wrong of [
      { ...proof, auth: newSubscription().auth },
      { ...proof, auth: 'not base64' },
      { ...proof, auth: '' },
      { ...proof, endpoint: newSubscription().endpoint },
      { ...proof, endpoint: 'no URL' },
    ]) {
      const response = await ask({ ...wrong, choices: { offers: true } });
      const unknown = await ask({ ...newSubscription(), choices: { offers: true } });
      assert.equal(response.status, unknown.status);
      assert.equal(await response.text(), await unknown.text());
      assert.deepEqual(await isOn(wrong), asDefault);
    }
    assert.deepEqual(await isOn(proof), { news: false, offers: false });
  });

  test('a channel that there is none of is a 400 that names it and those that there are', async () => {
    const proof = await register();
    const former = await isOn(proof);
    for (const [name, given] of [
      ['sport', proof],
      ['sport', newSubscription()],
      ['__proto__', newSubscription()],
    ] as const) {
      const body = `{"endpoint":"${given.endpoint}","auth":"${given.auth}","choices":{"news":false,"${name}":false}}`;
      const refused = ask(JSON.parse(body) as object);
      const { errors } = await assertProblem(refused, 400, 'ERR_REQUEST_INVALID');
      const { pointer, detail } = errors![0]!;
      assert.equal(pointer, name === 'sport' ? '/choices/sport' : '/choices');
      if (name === 'sport') assert.match(detail, /"sport".*there are news, offers/);
    }
    assert.equal((await ask({ ...proof, choices: { news: 'no' } })).status, 400);
    assert.equal((await ask({ ...proof, choices: ['news'] })).status, 400);
    assert.deepEqual(await isOn(proof), former);
  });

  test('a channel that is removed while it is being chosen is a 400 as well', async (t) => {
    const proof = await register();
    const { channels } = service.store;
    await channels.put({ name: 'sport', title: 'Sport', titles: {}, isOnByDefault: true });
    const list = channels.list.bind(channels);
    t.mock.method(channels, 'list', async () => {
      const found = await list();
      await channels.remove('sport');
      return found;
    });
    const refused = ask({ ...proof, choices: { sport: false } });
    const { errors } = await assertProblem(refused, 400, 'ERR_REQUEST_INVALID');
    assert.equal(errors?.[0]?.pointer, '/choices/sport');
    assert.deepEqual(await isOn(proof), asDefault);
  });

  test('a request that says nothing of its reader, or has a wrong token, is a 401', async () => {
    const proof = await register();
    for (const [body, headers, reason] of [
      [{}, {}, /Nothing says whose/],
      [{ endpoint: proof.endpoint }, {}, /Nothing says whose/],
      // the subscription could say it, and yet does not
      [{ ...proof, choices: { news: false } }, { authorization: 'Bearer wrong' }, /It is not a signed JWT/],
    ] as const) {
      const response = await ask(body, headers);
      assert.match(response.headers.get('www-authenticate')!, /^Bearer/);
      assert.match((await assertProblem(response, 401, 'ERR_SUBSCRIBER_TOKEN')).detail, reason);
    }
    assert.deepEqual(await isOn(proof), asDefault);
  });

  test('language and time zone come with a registration, and stay where a request has none that is usable', async () => {
    const facts = { language: 'de-at', timeZone: 'Europe/Vienna' };
    const subscription = newSubscription();
    const send = (further: object) =>
      sendJson(service.base, 'POST', '/webPush', { ...subscription, ...further });
    const stored = async () => {
      const { language, timeZone } = (await service.store.subscriptions.findByEndpoint(
        subscription.endpoint,
      ))!;
      return { language, timeZone };
    };
    assert.equal((await send({})).status, 200);
    assert.deepEqual(await stored(), { language: undefined, timeZone: undefined });
    for (const further of [
      facts,
      {},
      { language: 'no language', timeZone: 'Mars/Olympus' },
      { language: 7, timeZone: null },
      { language: { toString: 1 }, timeZone: ['Europe/Paris'] },
      { language: 'x'.repeat(5000) },
    ]) {
      assert.equal((await send(further)).status, 200);
      assert.deepEqual(await stored(), { language: 'de-AT', timeZone: 'Europe/Vienna' });
    }
    assert.equal((await send({ timeZone: 'Europe/Paris' })).status, 200);
    assert.deepEqual(await stored(), { language: 'de-AT', timeZone: 'Europe/Paris' });
  });
});

test('route, page and its files are there where channels are on, with pushOnly too, and as a middleware', async (t) => {
  const paths = ['/preferences', '/client/preferences/preferences.js', '/client/preferences/preferences.css'];
  for (const [given, status] of [
    [{}, 404],
    [{ pushOnly: true }, 404],
    [{ channels: true }, 200],
    [{ channels: true, pushOnly: true }, 200],
  ] as const) {
    const { base } = await startService(given, t);
    for (const path of paths) {
      assert.equal((await fetch(base + path)).status, status, path);
    }
    const response = await sendJson(base, 'POST', '/webPush/channels', newSubscription());
    assert.equal(response.status, status);
    if (!('pushOnly' in given))
      assert.equal((await (await fetch(`${base}/`)).text()).includes('href="preferences"'), status === 200);
  }
  const { store } = await startService({}, t);
  const middleware = createMiddleware({ ...optionsFor(store), pushOnly: true, channels: true });
  const base = await serveUntilEnd(t, (request, response) => middleware(request, response));
  t.after(() => middleware.close());
  assert.equal((await fetch(`${base}/preferences`)).status, 200);
  assert.equal((await fetch(`${base}/preferences/`)).url, `${base}/preferences`);
  assert.deepEqual(await (await sendJson(base, 'POST', '/webPush/channels', newSubscription())).json(), []);
});

test('one client address may ask so many times a minute; registrations have a limit of their own', async (t) => {
  const { base } = await startService({ channels: true, registrationsPerMinute: 1 }, t);
  const ask = () => sendJson(base, 'POST', '/webPush/channels', newSubscription());
  assert.equal((await ask()).status, 200);
  const refused = await ask();
  assert.equal(refused.status, 429);
  assert.match(await refused.text(), /may ask for channels 1 times a minute/);
  assert.equal((await sendJson(base, 'POST', '/webPush', newSubscription())).status, 200);
});
