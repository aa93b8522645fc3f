// The live parts of pages: what one viewer may see and do never reaches another, and a page that was left holds no place.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { suite, test } from 'node:test';
import { createWarningReader } from '../../src/delivery/alarms/installation-warnings.ts';
import { until } from '../../tools/until.ts';
import { createSharedFeeds } from '../../src/operator/broadcast-events.ts';
import { madeUpSubscription, vapidPublicKey } from '../store/made-up-subscription.ts';
import { addSubscriptions, commitSlice } from '../store/store-under-test.ts';
import { signIn, type Visitor } from './console-visitor.ts';
import { startOperator, type RunningOperator } from './running-operator.ts';

/**
 * Follows a live page. `next`: up to the next event of this kind, with new parts unless told otherwise; `begin`: what is read for this
 * viewer, and what is read after it for all
 */
function watch({ base }: RunningOperator, path: string, { cookie }: Visitor) {
  const ending = new AbortController();
  const chunks = fetch(base + path, { headers: { cookie }, signal: ending.signal }).then(
    ({ status, body }) => {
      assert.equal(status, 200, path);
      return body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
    },
  );
  const next = async (event = 'message', times = 1): Promise<string> => {
    let text = '';
    const wanted = new RegExp(`^event: ${event}\\ndata: .*\\n\\n`, 'gm');
    while ((text.match(wanted)?.length ?? 0) < times) {
      const { value, done } = await (await chunks).next();
      assert.ok(!done, `the stream ends before the event ${event}`);
      text += value;
    }
    return text;
  };
  return {
    next,
    begin: () => next('read', 2),
    leave: () => ending.abort(),
  };
}

const tokensIn = (html: string): readonly string[] =>
  Array.from(html.matchAll(/name=\\?"csrf\\?" value=\\?"([\w-]+)\\?"/g), ([, token]) => token!);

type Method = (...given: unknown[]) => unknown;

// they mostly wait for the next second
suite('live pages', { concurrency: 4 }, () => {
  test('who looks at a live page first hands nothing of the own session to the others', async (t) => {
    const operator = await startOperator(t);
    await operator.store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    await operator.sender.createBroadcast('all', { title: 'Hello', message: '' });
    const viewers = {
      ada: await signIn(operator, 'full', 'ada'),
      grace: await signIn(operator, 'full', 'grace'),
      eve: await signIn(operator, 'read', 'eve'),
    };
    const own = Object.fromEntries(
      Object.entries(viewers).map(([name, { page }]) => [name, tokensIn(page.html)[0]!]),
    );
    assert.equal(new Set(Object.values(own)).size, 3);
    const paths = operator.routes.map(({ path }) => path).filter((path) => path.includes('/live/'));
    assert(paths.length >= 3);
    const lookAt = async (path: string): Promise<void> => {
      for (const order of [
        ['eve', 'ada', 'grace'],
        ['grace', 'ada', 'eve'],
      ] as const) {
        const pages = [];
        for (const name of order) {
          const page = watch(operator, path, viewers[name]);
          // the next viewer comes once this one has asked
          pages.push({ name, page, text: await page.next() });
        }
        for (const { name, page, text: first } of pages) {
          const later = await page.begin();
          assert.doesNotMatch(later, /"live-controls"/, `${name} keeps the buttons at ${path}`);
          const text = first + later;
          const tokens = tokensIn(text);
          assert(
            tokens.every((token) => token === own[name]),
            `${name} gets tokens of others at ${path}`,
          );
          if (name === 'eve') assert.doesNotMatch(text, /<form|<button/, path);
          else if (path.includes('/broadcasts/')) assert.equal(tokens.length, 1, `${name} has the button`);
        }
        for (const { page } of pages) page.leave();
      }
    };
    await Promise.all(paths.map(lookAt));
  });

  test('the buttons of a live page follow the broadcast, for each who may press them', async (t) => {
    const operator = await startOperator(t);
    await operator.store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    const { broadcast } = await operator.sender.createBroadcast('all', { title: 'Hello', message: '' });
    const pages = [await signIn(operator, 'read'), await signIn(operator, 'full')].map((viewer) =>
      watch(operator, `/console/live/broadcasts/${broadcast.id}`, viewer),
    );
    const first = await Promise.all(pages.map((page) => page.next()));
    assert.deepEqual(
      first.map((text) => text.includes('/pause')),
      [false, true],
    );
    await operator.store.broadcasts.pause(broadcast.id);
    const second = await Promise.all(pages.map((page) => page.next()));
    assert.deepEqual(
      second.map((text) => text.includes('/resume')),
      [false, true],
    );
    for (const page of pages) page.leave();
  });

  test('attempts, their reasons and what came of one are live on the page of a broadcast, as they are chosen there', async (t) => {
    const operator = await startOperator(t);
    await addSubscriptions(operator.store, 3);
    const { broadcast } = await operator.sender.createBroadcast('all', { title: 'Hello', message: '' });
    const viewer = await signIn(operator);
    const pages = [];
    for (const [query, place] of [
      ['', 'attempts'],
      ['?outcome=accepted', 'attempts'],
      ['?subscription=2', 'answer'],
    ] as const) {
      const { html } = await viewer.open(`/console/broadcasts/${broadcast.id}${query}`);
      for (const part of [place, 'answers']) assert.match(html, new RegExp(`id="live-${part}"`), query);
      const page = watch(operator, /data-live="([^"]+)"/.exec(html)![1]!, viewer);
      pages.push({ page, first: await page.next() });
    }
    for (const { first } of pages)
      assert.match(first, /"live-answers":"<p class=\\"empty quiet\\">Nothing\./);
    const slice = await operator.store.leases.leaseSlice({ leaseMs: 10_000, broadcastId: broadcast.id });
    await commitSlice(
      operator.store,
      slice!,
      (recipient) => ({
        recipient,
        origin: 'https://fcm.googleapis.com',
        attempts: 1,
        result: 'rejected',
        record: { atMs: Date.now(), attempt: 1, outcome: 'rejected', status: 403, reason: 'vapid-refused' },
      }),
      10_000,
    );
    const [all, accepted, one] = await Promise.all(pages.map(({ page }) => page.next()));
    for (const text of [all, accepted, one]) assert.match(text!, /"live-answers":"[^]*>403</);
    assert.equal(all!.match(/subscriptions\/\d+\\"/g)?.length, 3);
    assert.doesNotMatch(accepted!, /"live-attempts"/);
    assert.match(one!, /"live-answer":[^]*rejected/);
    for (const { page } of pages) page.leave();
  });

  test('the alarms of a live page link to where they are acknowledged, for who may do so', async (t) => {
    const { store } = await startOperator(t);
    await store.sending.pause('restored');
    const operator = await startOperator(t, { readWarnings: createWarningReader(store) });
    for (const [role, isShown] of [
      ['read', false],
      ['full', true],
    ] as const) {
      const page = watch(operator, '/console/live/overview', await signIn(operator, role));
      const text = await page.next();
      assert.match(text, /Sending is paused/, role);
      assert.equal(text.includes('/console/alarms/acknowledge'), isShown, role);
      page.leave();
    }
  });

  test('who comes after a change never gets what others had read before it', async (t) => {
    const operator = await startOperator(t);
    await operator.store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    const { broadcast } = await operator.sender.createBroadcast('all', { title: 'Hello', message: '' });
    const viewer = await signIn(operator);
    const path = `/console/live/broadcasts/${broadcast.id}`;
    const first = watch(operator, path, viewer);
    await first.next('read');
    await operator.store.broadcasts.pause(broadcast.id);
    const second = watch(operator, path, viewer);
    const text = await second.next('read');
    assert.match(text, /\/resume/);
    assert.doesNotMatch(text, /\/pause/);
    for (const page of [first, second]) page.leave();
  });

  test('a live page is told of when its figures are, what is true of them, and when they cannot be read', async (t) => {
    const operator = await startOperator(t);
    await operator.store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    const { broadcast } = await operator.sender.createBroadcast('all', { title: 'Hello', message: '' });
    const page = watch(operator, `/console/live/broadcasts/${broadcast.id}`, await signIn(operator));
    const read = async () => {
      const data = /^event: read\ndata: (.*)\n\n/m.exec(await page.next('read'))![1]!;
      return JSON.parse(data) as { readonly atMs: number; readonly status: readonly string[] };
    };
    const startMs = Date.now() - 60_000;
    const { atMs, status } = await read();
    assert.ok(atMs > startMs && atMs <= Date.now());
    assert.deepEqual(status, [`Broadcast ${broadcast.id} is running`]);
    const mock = t.mock.method(operator.store.broadcasts, 'get', () =>
      Promise.reject(new Error('no database')),
    );
    await page.next('unread');
    const sessions = t.mock.method(operator.store.operators, 'findBySession', () =>
      Promise.reject(new Error('no database')),
    );
    await page.next('unread');
    mock.mock.restore();
    await page.next('unread');
    sessions.mock.restore();
    assert.ok((await read()).atMs > atMs);
    page.leave();
  });

  test('a load that is given up while the page is made holds no place', async (t) => {
    const operator = await startOperator(t);
    const { cookie } = await signIn(operator);
    // a database that takes its time: first to say who asks, then to be read
    const { operators, subscriptions } = operator.store as unknown as Record<string, Record<string, Method>>;
    for (const [part, name] of [
      [operators!, 'findBySession'],
      [subscriptions!, 'count'],
    ] as const) {
      const ready = Promise.withResolvers<void>();
      let waiting = 0;
      const find = part[name]!.bind(part);
      const mock = t.mock.method(part, name, async (...given: unknown[]) => {
        waiting += 1;
        await ready.promise;
        return find(...given);
      });
      let closed = 0;
      operator.app.server.on('request', (_request, response) => response.once('close', () => (closed += 1)));
      const loads = Array.from({ length: 200 }, () =>
        request(`${operator.base}/console/live/overview`, { headers: { cookie } })
          .on('error', () => {})
          .end(),
      );
      await until(
        () => waiting >= 200,
        () => `200 loads that wait for the store; ${waiting} do`,
      );
      for (const load of loads) load.destroy();
      await until(
        () => closed >= 200,
        () => `200 loads to be given up; ${closed} are`,
      );
      ready.resolve();
      mock.mock.restore();
      const page = watch(operator, '/console/live/overview', { cookie } as Visitor);
      assert.match(await page.next(), /live-tiles/);
      page.leave();
    }
  });

  test('what is followed only after the feeds are closed ends at once, so that the listener can end', async () => {
    const feeds = createSharedFeeds<string, number>(() => {});
    feeds.close();
    const followed = feeds.follow('late', new AbortController().signal, async function* (stopped) {
      yield 1;
      await stopped;
    });
    assert.equal((await followed.next()).done, true);
    assert.equal(feeds.size, 0);
  });
});
