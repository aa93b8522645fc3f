// What is wrong with a request is said in a short answer, however much of it is wrong.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { madeUpSubscription, vapidPublicKey } from '../store/made-up-subscription.ts';
import { signIn } from './console-visitor.ts';
import { startOperator, type RunningOperator } from './running-operator.ts';

interface Problem {
  readonly code: string;
  readonly detail: string;
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[];
}

const message = { title: 'Tea', message: 'is ready' };

async function refusal({ ask }: RunningOperator, path: string, body: unknown): Promise<Problem> {
  const response = await ask(path, { method: 'POST', body });
  assert.equal(response.status, 400);
  return (await response.json()) as Problem;
}

const all = { audience: 'all', message };
const audienceForms =
  "'all', an object with ids, an object with at least one of user and tags or an object with subscriptions";

/** Of each kind of fault: path, body, and the details of the fields. */
const faults: readonly (readonly [string, unknown, readonly string[]])[] = [
  ['POST /v1/broadcasts', [], ['The body is of type array; give an object with audience and message.']],
  ['POST /v1/broadcasts', { message }, [`audience is missing; give ${audienceForms}.`]],
  [
    'POST /v1/broadcasts',
    { audience: 'everybody', message },
    [`audience has none of the forms that are allowed; give ${audienceForms}.`],
  ],
  [
    'POST /v1/broadcasts',
    { audience: { ids: [1], user: '42' }, message },
    [`audience has none of the forms that are allowed; give ${audienceForms}.`],
  ],
  [
    'POST /v1/broadcasts',
    { audience: { ids: ['1', 0] }, message },
    [
      'audience.ids[0] is of type string; give a whole number from 1.',
      'audience.ids[1] is 0; give a whole number from 1.',
    ],
  ],
  [
    'POST /v1/broadcasts',
    { audience: { ids: [] }, message },
    ['audience.ids is empty; give an array of 1 to 10,000 items, each a whole number from 1.'],
  ],
  [
    'POST /v1/broadcasts',
    { audience: { tags: { every: ['news'] } }, message },
    ['audience.tags.every is unknown; there are all, any and none.'],
  ],
  [
    'POST /v1/broadcasts',
    { audience: { tags: {} }, message },
    ['audience.tags is empty; give an object with at least one of all, any and none.'],
  ],
  [
    'POST /v1/broadcasts',
    { audience: { tags: { all: ['a b'] } }, message },
    [
      'audience.tags.all[0] is not usable: A tag must be 1 to 64 bytes of letters, digits and ". _ : -", and begin with a letter or digit.',
    ],
  ],
  [
    'POST /v1/broadcasts',
    { audience: { user: '' }, message },
    ['audience.user is empty; give 1 to 128 bytes of UTF-8 without control characters.'],
  ],
  [
    'POST /v1/broadcasts',
    {
      ...all,
      urgency: 'urgent',
      ttlSeconds: -1,
      perPerson: '3 a day',
      skipInactive: 101,
      startAt: 'tomorrow',
    },
    [
      'startAt is not usable; give a time with a zone, such as 2027-01-01T09:00:00Z.',
      'ttlSeconds is -1; give a whole number from 0 to 2147483647.',
      "urgency is not an allowed value; give 'very-low', 'low', 'normal' or 'high'.",
      'perPerson is not usable: The cap per person "3 a day" is not valid: give a number from 1 to 9999 per hour, day or week, such as 3/day.',
      'skipInactive is 101; give a whole number from 1 to 100.',
    ],
  ],
  [
    'POST /v1/broadcasts',
    { audience: 'all', message: { title: 'Tea', icon: 'ftp://x', actions: [{}], dir: 'up', lang: '?' } },
    [
      'message.message is missing; give a string.',
      'message.icon is not usable; give an http(s) or data URL, absolute or relative to the page that subscribed.',
      'message.actions[0].title is missing; give a string that is not empty.',
      'message.lang is not usable; give a BCP 47 language tag, such as de or pt-BR.',
      "message.dir is not an allowed value; give 'auto', 'ltr' or 'rtl'.",
    ],
  ],
  [
    'POST /v1/broadcasts',
    {
      audience: 'all',
      message: { title: 't', message: 'm', texts: { de_DE: {}, de: { title: 1, icon: '/' } } },
    },
    [
      'message.texts.de_DE is not usable; give a BCP 47 language tag, such as de or pt-BR.',
      'message.texts.de.icon is unknown; there are title, message, url and actions.',
      'message.texts.de.title is of type number; give a string.',
    ],
  ],
  [
    'POST /v1/messages',
    { to: { id: 1, user: '42' }, message },
    [
      'to has none of the forms that are allowed; give an object with id, an object with user or an object with subscription.',
    ],
  ],
  [
    'POST /v1/messages',
    { to: { subscription: { endpoint: 'x', keys: { p256dh: 'x', auth: null } } }, message },
    [
      'to.subscription.endpoint is not usable; give the URL that the browser gave, of at most 4,096 characters.',
      'to.subscription.keys.p256dh is not usable; give a 65-byte uncompressed point on P-256 as base64.',
      'to.subscription.keys.auth is of type null; give 16 bytes as base64.',
    ],
  ],
  [
    'POST /v1/schedules',
    { ...all, cron: '61 * * * *', timezone: 'Europe/Entenhausen' },
    [
      'cron is not usable: "61 * * * *" is not a cron expression: ',
      'timezone is not usable: "Europe/Entenhausen" is not a time zone; give an IANA name such as Europe/Berlin, or UTC.',
    ],
  ],
  [
    'PATCH /v1/subscriptions/1',
    {},
    ['The body is empty; give an object with at least one of user and tags.'],
  ],
  [
    'PATCH /v1/subscriptions/1',
    { user: 7 },
    ['user is of type number; give 1 to 128 bytes of UTF-8 without control characters or null.'],
  ],
  [
    'PATCH /v1/channels/b%20d',
    { title: 'News' },
    [
      'name is not usable: The name of a channel must be 1 to 64 bytes of letters, digits and ". _ : -", and begin with a letter or digit.',
    ],
  ],
  ['GET /v1/subscriptions/0', undefined, ['id is 0; give a whole number from 1.']],
  [
    'GET /v1/subscriptions?limit=many',
    undefined,
    ['limit is not usable; give a whole number from 1 to 500.'],
  ],
  ['GET /v1/keys?page=2', undefined, ['page is unknown; there are limit and cursor.']],
];

const wrongMembers = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`, 1]));

describe('what is wrong with a request', () => {
  test('is said of each field: its name, its fault and what is allowed', async (t) => {
    const { ask } = await startOperator(t);
    for (const [route, body, expected] of faults) {
      const [method = '', path = ''] = route.split(' ');
      const response = await ask(path, { method, body });
      const { code, errors } = (await response.json()) as Problem;
      assert.deepEqual([response.status, code], [400, 'ERR_REQUEST_INVALID'], route);
      const details = errors.map(({ detail }) => detail);
      assert.equal(details.length, expected.length, details.join('\n'));
      for (const [index, detail] of details.entries()) {
        // the words of the cron parser are its own
        assert.equal(
          detail.slice(0, expected[index]!.endsWith(' ') ? expected[index]!.length : undefined),
          expected[index],
        );
      }
    }
  });

  test('a body that is missing is a 400 on every route that has one', async (t) => {
    const { ask } = await startOperator(t);
    const { paths } = (await (await ask('/openapi.json')).json()) as {
      paths: Record<string, Record<string, { requestBody?: object }>>;
    };
    let asked = 0;
    for (const [path, methods] of Object.entries(paths))
      for (const [method, { requestBody }] of Object.entries(methods)) {
        if (requestBody === undefined) continue;
        asked += 1;
        const response = await ask(path.replaceAll('{id}', '1').replaceAll(/\{\w+\}/g, 'x'), {
          method: method.toUpperCase(),
        });
        assert.deepEqual(
          [response.status, ((await response.json()) as Problem).code],
          [400, 'ERR_REQUEST_INVALID'],
          `${method} ${path}`,
        );
      }
    assert.ok(asked > 5, String(asked));
  });

  test('several wrong members are named at once', async (t) => {
    const operator = await startOperator(t);
    const { errors, detail } = await refusal(operator, '/v1/broadcasts', {
      audience: 'all',
      message: { ...message, silent: 'no', renotify: 'no' },
      ttlSeconds: -1,
    });
    assert.deepEqual(
      errors.map(({ pointer }) => pointer),
      ['/message/renotify', '/message/silent', '/ttlSeconds'],
    );
    assert.doesNotMatch(detail, /more/);

    const body = { audience: 'all', message, 'a\u202eb': 1 };
    const answer = await (await operator.ask('/v1/broadcasts', { method: 'POST', body })).text();
    assert.ok(answer.includes(String.raw`a\u202eb is unknown`), answer);
    assert.ok(!answer.includes('\u202e'), 'no character that a terminal obeys');
  });

  test('of many wrong members twenty are named, and how many more there are', async (t) => {
    const operator = await startOperator(t);
    const body = { audience: 'all', message, ...wrongMembers(30) };
    const { errors, detail } = await refusal(operator, '/v1/broadcasts', body);
    assert.equal(errors.length, 20);
    assert.match(detail, /And 10 more\.$/);
  });

  test('of a body with more than a hundred values the first wrong one is named', async (t) => {
    const operator = await startOperator(t);
    // beside the wrong ones: the body, audience, message and what the message has
    for (const [count, named] of [
      [95, 20],
      [96, 1],
      [200, 1],
    ] as const) {
      const body = { audience: 'all', message, ...wrongMembers(count) };
      const { errors } = await refusal(operator, '/v1/broadcasts', body);
      assert.equal(errors.length, named, `${count} wrong ones`);
    }
  });

  test('a long name is shown by its beginning and its end', async (t) => {
    const operator = await startOperator(t);
    const body = { audience: 'all', message, [`b${'a'.repeat(60_000)}z`]: 1 };
    const { errors, detail } = await refusal(operator, '/v1/broadcasts', body);
    assert.match(errors[0]!.pointer, /^\/ba{90,100}…a{90,100}z$/);
    assert.match(detail, /^ba{40,50}…a{40,50}z is unknown; there are audience, .+ and receipts\.$/);
    assert(detail.length <= 2000);
  });

  test('a body that is too long is told the limit of its own route', async (t) => {
    const operator = await startOperator(t);
    const { ask, base } = operator;
    for (const [path, limit] of [
      ['/v1/messages', 65_536],
      ['/v1/broadcasts', 131_072],
    ] as const) {
      const response = await ask(path, { method: 'POST', body: `"${'a'.repeat(limit)}"` });
      assert.equal(response.status, 413);
      assert.match(((await response.json()) as Problem).detail, new RegExp(`the ${limit} bytes`));
    }
    const { cookie } = await signIn(operator);
    for (const [path, limit] of [
      ['/console/sign-in', 4096],
      ['/console/channels/edit', 4096],
      ...['', '/draft', '/confirm', '/test-group', '/test'].map(
        (step) => [`/console/send${step}`, 262_144] as const,
      ),
    ] as const) {
      const form = await fetch(base + path, {
        method: 'POST',
        headers: { origin: base, cookie, 'content-type': 'application/x-www-form-urlencoded' },
        body: `token=${'a'.repeat(limit)}`,
      });
      assert.equal(form.status, 413);
      assert.match(await form.text(), new RegExp(`the ${limit} bytes`));
    }
  });

  test('the console reads forms alone', async (t) => {
    const { base } = await startOperator(t);
    const { status } = await fetch(`${base}/console/sign-in`, {
      method: 'POST',
      headers: { origin: base, 'content-type': 'application/json' },
      body: '{"token":"x"}',
    });
    assert.equal(status, 415);
  });

  test('a form is read as browsers write it', async (t) => {
    const operator = await startOperator(t);
    const visitor = await signIn(operator);
    await visitor.open('/console/send');
    const page = await visitor.submit('/console/send', { title: 'a+b & ü', message: 'one\r\ntwo' });
    assert.equal(page.status, 200);
    assert.match(page.html, /a\+b &amp; ü/);
  });

  test('a long form that is wrong is answered by a short page', async (t) => {
    const operator = await startOperator(t);
    const visitor = await signIn(operator);
    await visitor.open('/console/send');
    const page = await visitor.submit('/console/send', {
      ...message,
      audience: 'ids',
      ids: 'x,'.repeat(12_000),
    });
    assert.equal(page.status, 400);
    assert(page.html.length < 65_536);
    assert.match(page.html, /whole numbers from 1/);
  });

  test('no answer to a wrong form is long, though each of its characters becomes six', async (t) => {
    const operator = await startOperator(t);
    const visitor = await signIn(operator);
    await visitor.open('/console/send');
    const page = await visitor.submit('/console/send', { ...message, title: '"'.repeat(8000) });
    assert.equal(page.status, 400);
    assert(page.html.length < 65_536);
    assert.match(page.html, /too long to be shown again/);
  });

  test('a tag of accents is refused by its length, and one in another spelling is put into the usual one', async (t) => {
    const { ask, store } = await startOperator(t);
    const { id } = await store.subscriptions.put(madeUpSubscription(1), vapidPublicKey);
    const assign = async (tag: string): Promise<Response> =>
      ask(`/v1/subscriptions/${id}`, { method: 'PATCH', body: { tags: [tag] } });
    assert.equal((await assign(`a${'\u0300\u0316'.repeat(5000)}`)).status, 400);
    const longest = '\ud55c'.repeat(21);
    const answer = await assign(longest.normalize('NFD'));
    assert.equal(answer.status, 200);
    assert.deepEqual(((await answer.json()) as { readonly tags: readonly string[] }).tags, [longest]);
  });
});
