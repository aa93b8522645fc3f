// Each route of the operator's listener, from its own list, asked by everybody who may not use it: nothing is done for them.
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, test, type TestContext } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { OpenApiDocument } from '../../src/http/description/openapi-document.ts';
import { createSessions } from '../../src/operator/console/sessions.ts';
import { type OperatorRole, operatorRoles } from '../../src/store/operators.ts';
import { madeUpSubscription, vapidPublicKey } from '../store/made-up-subscription.ts';
import type { Asked } from './collect-routes.ts';
import { openConsole, signIn } from './console-visitor.ts';
import { codeOf, type RunningOperator, startOperator, startStage } from './running-operator.ts';

/** Who asks, with what they carry. */
interface Caller {
  readonly headers: Readonly<Record<string, string>>;
  /** What they send as the token of a form. */
  readonly csrf?: string;
}

const isSafe = ({ method }: Asked): boolean => ['GET', 'HEAD', 'OPTIONS'].includes(method);
const isOfConsole = ({ path }: Asked): boolean => path.startsWith('/console');
/** No token opens a bell: it has a secret of its own. */
const isOfBells = ({ path }: Asked): boolean => path.startsWith('/ring');
const nameOf = ({ method, path }: Asked): string => `${method} ${path}`;
/** What the role send may change. */
const sent = new Set(['POST /v1/messages', 'POST /v1/broadcasts']);
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Fields with which forms of the console do something; the others need none. */
const forms: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '/console/send/test-group': { title: 'Ding', message: 'dong', testTag: 'news' },
  '/console/send/confirm': { title: 'Ding', message: 'dong', audience: 'all' },
  '/console/alarms/acknowledge': { alarm: '1' },
  '/console/people/remove': { user: '42' },
  '/console/people/choose': { user: '1', channel: 'news', choice: 'off' },
  '/console/channels/edit': { name: '1', title: 'Offers' },
  '/console/channels/remove': { name: '1' },
  '/console/bells/add': { name: 'backups', audience: 'all' },
  '/console/bells/rotate': { name: '1' },
  '/console/bells/remove': { name: '1' },
  '/console/held-deletions/confirm': { origin: 'https://fcm.googleapis.com' },
  '/console/held-deletions/discard': { origin: 'https://fcm.googleapis.com' },
};

/** What the audit has of what was changed by the API, and to what, but for what was refused to who may not. */
const audited = [
  'alarm.acknowledge: alarm 1',
  'bell.add: bell backups',
  'bell.remove: bell 1',
  'bell.rotate: bell 1',
  'broadcast.cancel: broadcast 1',
  'broadcast.create: broadcast 2',
  'broadcast.pause: broadcast 1',
  'broadcast.resume: broadcast 1',
  'channel.put: channel 1',
  'channel.remove: channel 1',
  'held-deletions.confirm: push service https://fcm.googleapis.com',
  'held-deletions.discard: push service https://fcm.googleapis.com',
  'message.send: subscription 1',
  'person.receipt: receipt',
  'person.remove: user #2',
  'person.update: user #1',
  'schedule.create: schedule 2',
  'schedule.pause: schedule 1',
  'schedule.remove: schedule 1',
  'schedule.resume: schedule 1',
  'subscription.assign: subscription 1',
  'subscription.remove: subscription 1',
];

/** The same of the console, whose forms make no schedules and assign no subscriptions, and whose messages are to itself. */
const auditedByConsole = [
  ...audited.filter((change) => !/\.(?:create|assign|send):/.test(change)),
  'broadcast.create: broadcast 3',
  'broadcast.create: broadcast 4',
  'message.send: subscription',
].toSorted();

/** A listener with what can be changed, and requests that would change it. */
async function startWithAll(t: TestContext) {
  const stage = await startStage(t, [{ user: '42', tags: ['news'] }]);
  const { sender, read, base } = stage;
  const later = { startAt: new Date('2099-01-01T00:00Z') };
  await sender.createBroadcast('all', { title: 'Later', message: 'Tea' }, later);
  await stage.store.channels.put({ name: 'news', title: 'News', titles: {}, isOnByDefault: true });
  const { paths } = await read<OpenApiDocument>('/openapi.json');
  const examples = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { requestBody }]) => ({
      method: method.toUpperCase(),
      pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      body: requestBody?.content['application/json']?.example,
    })),
  );
  const schedule = examples.find(({ method, pattern }) => method === 'POST' && pattern.test('/v1/schedules'));
  await read('/v1/schedules', { method: 'POST', body: schedule!.body });

  const ask = (route: Asked, { headers, csrf = '' }: Caller): Promise<Response> => {
    const { method, path } = route;
    const init = { method, redirect: 'manual', headers: { ...headers } as Record<string, string> } as const;
    if (isSafe(route)) return fetch(base + path, init);
    if (isOfConsole(route)) {
      init.headers['origin'] = base;
      return fetch(base + path, { ...init, body: new URLSearchParams({ csrf, ...forms[path] }) });
    }
    if (isOfBells(route)) return fetch(base + path, init);
    const example = examples.find((known) => known.method === method && known.pattern.test(path));
    assert(example, `${nameOf(route)} is described`);
    const query = method === 'DELETE' && path === '/v1/subscriptions' ? '?user=42' : '';
    if (example.body === undefined) return fetch(base + path + query, init);
    init.headers['content-type'] = 'application/json';
    return fetch(base + path, { ...init, body: JSON.stringify(example.body) });
  };
  return { ...stage, askAs: ask };
}

/** @returns what gives every table's rows, but for what the sender says of itself and for numbers of rows: read anew only after a commit */
function tableReader(t: TestContext, { store: { address } }: RunningOperator) {
  const { path } = address.options as { readonly path: string };
  const database = new DatabaseSync(path, { readOnly: true });
  t.after(() => database.close());
  const ours =
    "select name from sqlite_schema where type = 'table' and name not in ('senders', 'sqlite_sequence')";
  const names = database.prepare(ours).all();
  const readRows = names.map(
    ({ name }) => [String(name), database.prepare(`select * from "${name}"`)] as const,
  );
  const version = database.prepare('pragma data_version');
  let known: { readonly version: unknown; readonly tables: Readonly<Record<string, unknown>> } | undefined;
  return (): Readonly<Record<string, unknown>> => {
    const { data_version: current } = version.get()!;
    if (known?.version !== current) {
      const tables = Object.fromEntries(readRows.map(([name, rows]) => [name, rows.all()]));
      known = { version: current, tables };
    }
    return known!.tables;
  };
}

async function callersOf(operator: RunningOperator) {
  const tokens = Object.fromEntries(
    await Promise.all(operatorRoles.map(async (role) => [role, await operator.add(`${role}-token`, role)])),
  ) as Record<OperatorRole, string>;
  const removed = await operator.add('removed', 'full');
  await operator.store.operators.remove('removed');
  const signedIn = async (role: 'full' | 'read'): Promise<Caller> => {
    const { cookie, page } = await signIn(operator, role);
    return { headers: { cookie }, csrf: /name="csrf" value="([\w-]+)"/.exec(page.html)![1]! };
  };
  const [full, read] = [await signedIn('full'), await signedIn('read')];
  // none is made by signing in
  const metrics = (await operator.store.operators.list()).find(({ role }) => role === 'metrics')!;
  const consoleSessions = createSessions(operator.store);
  const metricsSession = await consoleSessions.start(metrics);
  const sender = (await operator.store.operators.list()).find(({ role }) => role === 'send')!;
  const senderSession = await consoleSessions.start(sender);
  return {
    tokens,
    sessions: { full, read },
    /** No route is theirs, but for those that are open. */
    strangers: {
      nobody: { headers: {} },
      'an empty token': { headers: bearer('') },
      'a wrong token': { headers: bearer(`${tokens.full}x`) },
      'the token of an operator who was removed': { headers: bearer(removed) },
      'a session that is none': { headers: { cookie: `deskbell_console=${'x'.repeat(43)}` } },
      'a session of the role metrics': { headers: { cookie: `deskbell_console=${metricsSession}` } },
      'a session of the role send': { headers: { cookie: `deskbell_console=${senderSession}` } },
    } as Readonly<Record<string, Caller>>,
  };
}

test('what changes something is refused to who may not, at each route, and nothing is changed', async (t) => {
  const operator = await startWithAll(t);
  const { tokens, sessions, strangers } = await callersOf(operator);
  const unsafe = operator.routes.filter((route) => !isSafe(route));
  assert(unsafe.length > 20);
  const open = unsafe.filter((route) => route.isOpen && !isOfBells(route));
  assert.deepEqual(open.map(nameOf), ['POST /console/sign-in']);
  const asked = unsafe.filter((route) => !route.isOpen);
  const ofBells = unsafe.filter(isOfBells);
  assert.equal(ofBells.length, 6);
  const readTables = tableReader(t, operator);
  const attempt = async (
    route: Asked,
    who: string,
    caller: Caller,
    mayBeChanged: readonly string[] = [],
  ): Promise<void> => {
    const before = readTables();
    const response = await operator.askAs(route, caller);
    assert([401, 403].includes(response.status), `${nameOf(route)} answers ${who} with ${response.status}`);
    const after = readTables();
    const changed =
      before === after
        ? []
        : Object.keys(before).filter((name) => !isDeepStrictEqual(before[name], after[name]));
    assert.deepEqual(
      changed.filter((name) => !mayBeChanged.includes(name)),
      [],
      `${nameOf(route)}, asked by ${who}`,
    );
  };
  for (const route of ofBells) {
    for (const role of operatorRoles)
      await attempt(route, `the token ${role}`, { headers: bearer(tokens[role]) });
  }
  for (const route of asked) {
    for (const [who, caller] of Object.entries(strangers)) await attempt(route, who, caller);
    if (isOfConsole(route)) {
      for (const role of operatorRoles) {
        await attempt(route, `the token ${role} without a session`, { headers: bearer(tokens[role]) });
      }
      // whose session it is, is known: the audit names them
      const { full, read } = sessions;
      await attempt(route, 'a session without its token', { headers: full.headers }, ['audit']);
      await attempt(route, 'a session with the token of another', { ...full, csrf: read.csrf! }, ['audit']);
      if (route.path !== '/console/sign-out') await attempt(route, 'a session that reads', read);
    } else {
      for (const role of ['read', 'send', 'metrics'] as const) {
        if (role === 'send' && sent.has(nameOf(route))) continue;
        await attempt(route, `the role ${role}`, { headers: bearer(tokens[role]) });
      }
      await attempt(route, 'a session without a token', sessions.full);
    }
  }
  // The same requests are let in with the right to them: they were not refused for anything else.
  const last = asked.toSorted(
    (one, other) => Number(/sign-out/.test(one.path)) - Number(/sign-out/.test(other.path)),
  );
  for (const route of last) {
    const caller = isOfConsole(route) ? sessions.full : { headers: bearer(tokens.full) };
    const { status, headers } = await operator.askAs(route, caller);
    assert(![401, 403].includes(status), `${nameOf(route)} answers an operator with ${status}`);
    assert.doesNotMatch(headers.get('location') ?? '', /sign-in\?/);
  }
  const records = await operator.store.audit.list({ limit: 500 });
  const changesOf = (name: string): readonly string[] => {
    const changes = records
      .filter(({ operator: by, status }) => by === name && status !== 403)
      .map(({ action, target = '' }) => `${action}: ${target.replace(/^receipt .+/, 'receipt')}`);
    return [...new Set(changes)].toSorted();
  };
  assert.deepEqual(changesOf('full-token'), audited);
  assert.deepEqual(changesOf('ada-full'), auditedByConsole);
});

test('the role metrics reads /metrics alone, the role read everything, and nobody anything without a token', async (t) => {
  const operator = await startWithAll(t);
  const { tokens, sessions, strangers } = await callersOf(operator);
  const safe = operator.routes.filter((route) => isSafe(route) && !route.isOpen && route.path !== '/');
  const readable: Record<string, string[]> = { metrics: [], send: [] };
  for (const route of safe) {
    if (!isOfConsole(route)) {
      const { status, body } = await operator.askAs(route, { headers: bearer(tokens.read) });
      await body?.cancel();
      assert.ok(![401, 403].includes(status), `${nameOf(route)} answers the role read with ${status}`);
    }
    // a token of whatever role is no session
    for (const role of isOfConsole(route) ? operatorRoles : (['metrics', 'send'] as const)) {
      const { status, headers } = await operator.askAs(route, { headers: bearer(tokens[role]) });
      if (isOfConsole(route))
        assert.match(headers.get('location') ?? '', /^\/console\/sign-in/, nameOf(route));
      else if (status !== 403) readable[role]!.push(`${nameOf(route)} ${status}`);
    }
    const callers = isOfConsole(route) ? strangers : { ...strangers, 'a session alone': sessions.full };
    for (const [who, caller] of Object.entries(callers)) {
      const answer = await operator.askAs(route, caller);
      const where = `${nameOf(route)}, asked by ${who}`;
      if (isOfConsole(route))
        assert.match(answer.headers.get('location') ?? '', /^\/console\/sign-in/, where);
      else assert.equal(answer.status, 401, where);
    }
  }
  assert.deepEqual(readable, {
    metrics: ['GET /metrics 200', 'HEAD /metrics 200'],
    // the broadcast is another's
    send: [
      'GET /v1/broadcasts 200',
      'HEAD /v1/broadcasts 200',
      'GET /v1/broadcasts/1 404',
      'HEAD /v1/broadcasts/1 404',
      'GET /v1/broadcasts/1/attempts 404',
      'HEAD /v1/broadcasts/1/attempts 404',
      'GET /v1/broadcasts/1/events 404',
      'GET /v1/broadcasts/1/outcomes 404',
      'HEAD /v1/broadcasts/1/outcomes 404',
      'GET /v1/broadcasts/1/outcomes.csv 404',
      'GET /v1/channels 200',
      'HEAD /v1/channels 200',
    ],
  });
});

test('the role send sends, and sees its own broadcasts alone', async (t) => {
  const operator = await startStage(t, [{ user: 'me' }]);
  const token = await operator.add('backup', 'send');
  const others = await operator.add('shop', 'send');
  const message = { title: 'Backup', message: 'Done' };
  const ask = (path: string, { as = token, ...options }: { as?: string; body?: object; key?: string } = {}) =>
    operator.ask(path, {
      ...(options.body && { method: 'POST', body: options.body }),
      headers: { authorization: `Bearer ${as}`, ...(options.key && { 'idempotency-key': options.key }) },
    });
  await operator.sender.createBroadcast('all', message, { idempotencyKey: 'theirs' });
  const sentOnce = await ask('/v1/messages', { body: { to: { user: 'me' }, message } });
  assert.match(await sentOnce.text(), /"outcome":"accepted"/);
  const made = await ask('/v1/broadcasts', { body: { audience: 'all', message }, key: 'mine' });
  assert.equal(made.status, 201);
  const seenBy = async (as: string): Promise<readonly number[]> => {
    const { items } = (await (await ask('/v1/broadcasts', { as })).json()) as { items: { id: number }[] };
    return items.map(({ id }) => id);
  };
  assert.deepEqual([await seenBy(token), await seenBy(others)], [[2], []]);
  assert.equal((await ask('/v1/broadcasts/2')).status, 200);
  assert.equal((await ask('/v1/broadcasts/2/attempts')).status, 200);
  // whose subscriptions are is not for it
  for (const part of ['', '.csv']) {
    const shown = await (await ask(`/v1/broadcasts/2/outcomes${part}`)).text();
    assert.match(shown, /pending/);
    assert.ok(!/\bme\b/.test(shown), shown);
  }
  for (const part of ['', '/attempts', '/events', '/outcomes', '/outcomes?user=me', '/outcomes.csv'])
    assert.equal((await ask(`/v1/broadcasts/2${part}`, { as: others })).status, 404, part);
  assert.equal((await ask('/v1/broadcasts/1')).status, 404);

  const again = await ask('/v1/broadcasts', { body: { audience: 'all', message }, key: 'mine' });
  assert.equal(again.status, 200);
  assert.equal(((await again.json()) as { idempotencyKey: string }).idempotencyKey, 'mine');
  // keys of another operator and of an application are theirs, whatever is sent
  for (const [index, key] of ['mine', 'theirs'].entries()) {
    const body = { audience: 'all', message: { ...message, title: 'Order' } };
    assert.equal((await ask('/v1/broadcasts', { as: others, body, key })).status, 201);
    assert.equal((await seenBy(others)).length, index + 1);
  }
  for (const as of [token, others]) {
    const body = { to: { user: 'me' }, message: { ...message, title: as } };
    assert.equal((await ask('/v1/messages', { as, body, key: 'order-7' })).status, 200);
  }
  // what is stored of it goes with its operator
  await operator.store.operators.remove('backup');
  assert.equal(await operator.store.operators.ownsBroadcast(2, 2), false);
});

test('the role send learns nothing of what is known about a person', async (t) => {
  const operator = await startStage(t, [{ user: 'me', tags: ['vip'] }]);
  await operator.store.readers.setPerson('me', { data: { plan: 'gold' } });
  await operator.store.channels.put({ name: 'news', title: 'News', titles: {}, isOnByDefault: true });
  const token = await operator.add('shop', 'send');
  const message = { title: 'Order', message: 'Sent' };
  const ask = (path: string, body?: object) =>
    operator.ask(path, {
      ...(body && { method: 'POST', body }),
      headers: { authorization: `Bearer ${token}` },
    });
  const user = 'me';
  for (const [audience, option] of [
    [{ user, tags: { all: ['vip'] } }, {}],
    [{ user, tags: { none: ['vip'] } }, {}],
    [{ user }, { channel: 'news' }],
    [{ user }, { perPerson: '1/day' }],
    [{ user }, { skipInactive: 5 }],
    [{ user }, { localTime: '09:00', timeZone: 'Europe/Berlin' }],
    [{ user }, { quietHours: '22:00-07:00' }],
    [{ ids: [1] }, { channel: 'news' }],
    [{ ids: [1] }, { skipInactive: 5 }],
  ] as const) {
    const refused = await ask('/v1/broadcasts', { audience, message, ...option });
    assert.deepEqual(
      [refused.status, await codeOf(refused)],
      [403, 'ERR_TOKEN_ROLE'],
      JSON.stringify(option),
    );
  }
  // its numbers by text would tell the language
  const inGerman = { ...message, texts: { de: { title: 'Bestellung', message: 'Unterwegs' } } };
  assert.equal((await ask('/v1/broadcasts', { audience: { user }, message: inGerman })).status, 403);
  assert.equal((await ask('/v1/messages', { to: { user }, message: inGerman })).status, 200);
  // whether the person has such a value or not
  for (const name of ['plan', 'city']) {
    const withValue = { ...message, title: `{${name}}`, placeholders: true };
    for (const [path, body] of [
      ['/v1/messages', { to: { user }, message: withValue }],
      ['/v1/messages', { to: { id: 1 }, message: withValue }],
      ['/v1/broadcasts', { audience: { user }, message: withValue }],
      ['/v1/broadcasts', { audience: { ids: [1] }, message: withValue }],
    ] as const) {
      const refused = await ask(path, body);
      assert.deepEqual([refused.status, await codeOf(refused)], [422, 'ERR_PLACEHOLDER_VALUE'], path);
    }
    const answer = await ask('/v1/messages', {
      to: { user },
      message: { ...withValue, title: `{${name}|-}` },
    });
    const { items } = (await answer.json()) as { items: Record<string, unknown>[] };
    assert.deepEqual([items[0]!['outcome'], 'id' in items[0]!], ['accepted', false]);
  }
  const made = (await (await ask('/v1/broadcasts', { audience: { user }, message })).json()) as {
    id: number;
  };
  assert.equal((await ask(`/v1/broadcasts/${made.id}`)).status, 200);
  const all = (await (await ask('/v1/broadcasts', { audience: 'all', message })).json()) as { id: number };
  const toThem = { audience: { broadcast: made.id, outcome: 'accepted' }, message };
  assert.equal((await ask('/v1/broadcasts', toThem)).status, 403, 'who they are would be shown');
  const ofOthers = { ...toThem, audience: { broadcast: 99, outcome: 'accepted' } };
  assert.equal((await ask('/v1/broadcasts', ofOthers)).status, 404);
  const toMissed = await ask('/v1/broadcasts', {
    ...toThem,
    audience: { broadcast: all.id, outcome: 'missed' },
  });
  assert.equal(toMissed.status, 201);
  for (const path of [
    `${made.id}/attempts`,
    `${made.id}/outcomes`,
    `${made.id}/outcomes.csv`,
    `${all.id}/outcomes?user=me`,
  ])
    assert.equal((await ask(`/v1/broadcasts/${path}`)).status, 403, path);
});

// What is wrong with a request is said in a short answer, however much of it is wrong.

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
  "'all', an object with ids, an object with at least one of user and tags, an object with broadcast and outcome or an object with subscriptions";

/** Of each kind of fault, by route: the body, and the details of the fields. */
const faults: Readonly<Record<string, readonly (readonly [body: unknown, ...details: string[]])[]>> = {
  'POST /v1/broadcasts': [
    [[], 'The body is of type array; give an object with audience and message.'],
    [{ message }, `audience is missing; give ${audienceForms}.`],
    [
      { audience: 'everybody', message },
      `audience has none of the forms that are allowed; give ${audienceForms}.`,
    ],
    [
      { audience: { ids: [1], user: '42' }, message },
      `audience has none of the forms that are allowed; give ${audienceForms}.`,
    ],
    [
      { audience: { ids: ['1', 0] }, message },
      'audience.ids[0] is of type string; give a whole number from 1.',
      'audience.ids[1] is 0; give a whole number from 1.',
    ],
    [
      { audience: { ids: [] }, message },
      'audience.ids is empty; give an array of 1 to 10,000 items, each a whole number from 1.',
    ],
    [
      { audience: { tags: { every: ['news'] } }, message },
      'audience.tags.every is unknown; there are all, any and none.',
    ],
    [
      { audience: { tags: {} }, message },
      'audience.tags is empty; give an object with at least one of all, any and none.',
    ],
    [
      { audience: { tags: { all: ['a b'] } }, message },
      'audience.tags.all[0] is not usable: A tag must be 1 to 64 bytes of letters, digits and ". _ : -", and begin with a letter or digit.',
    ],
    [
      { audience: { user: '' }, message },
      'audience.user is empty; give 1 to 128 bytes of UTF-8 without control characters.',
    ],
    [
      {
        ...all,
        urgency: 'urgent',
        ttlSeconds: -1,
        perPerson: '3 a day',
        skipInactive: 101,
        startAt: 'tomorrow',
      },
      'startAt is not usable; give a time with a zone, such as 2027-01-01T09:00:00Z.',
      'ttlSeconds is -1; give a whole number from 0 to 2147483647.',
      "urgency is not an allowed value; give 'very-low', 'low', 'normal' or 'high'.",
      'perPerson is not usable: The cap per person "3 a day" is not valid: give a number from 1 to 9999 per hour, day or week, such as 3/day.',
      'skipInactive is 101; give a whole number from 1 to 100.',
    ],
    [
      { audience: 'all', message: { title: 'Tea', icon: 'ftp://x', actions: [{}], dir: 'up', lang: '?' } },
      'message.message is missing; give a string.',
      'message.icon is not usable; give an http(s) or data URL, absolute or relative to the page that subscribed.',
      'message.actions[0].title is missing; give a string that is not empty.',
      'message.lang is not usable; give a BCP 47 language tag, such as de or pt-BR.',
      "message.dir is not an allowed value; give 'auto', 'ltr' or 'rtl'.",
    ],
    [
      {
        audience: 'all',
        message: { title: 't', message: 'm', texts: { de_DE: {}, de: { title: 1, icon: '/' } } },
      },
      'message.texts.de_DE is not usable; give a BCP 47 language tag, such as de or pt-BR.',
      'message.texts.de.icon is unknown; there are title, message, url and actions.',
      'message.texts.de.title is of type number; give a string.',
    ],
  ],
  'POST /v1/messages': [
    [
      { to: { id: 1, user: '42' }, message },
      'to has none of the forms that are allowed; give an object with id, an object with user or an object with subscription.',
    ],
    [
      { to: { subscription: { endpoint: 'x', keys: { p256dh: 'x', auth: null } } }, message },
      'to.subscription.endpoint is not usable; give the URL that the browser gave, of at most 4,096 characters.',
      'to.subscription.keys.p256dh is not usable; give a 65-byte uncompressed point on P-256 as base64.',
      'to.subscription.keys.auth is of type null; give 16 bytes as base64.',
    ],
  ],
  'POST /v1/schedules': [
    [
      { ...all, cron: '61 * * * *', timezone: 'Europe/Entenhausen' },
      'cron is not usable: "61 * * * *" is not a cron expression: ',
      'timezone is not usable: "Europe/Entenhausen" is not a time zone; give an IANA name such as Europe/Berlin, or UTC.',
    ],
  ],
  'PATCH /v1/subscriptions/1': [
    [{}, 'The body is empty; give an object with at least one of user and tags.'],
    [{ user: 7 }, 'user is of type number; give 1 to 128 bytes of UTF-8 without control characters or null.'],
  ],
  'PATCH /v1/channels/b%20d': [
    [
      { title: 'News' },
      'name is not usable: The name of a channel must be 1 to 64 bytes of letters, digits and ". _ : -", and begin with a letter or digit.',
    ],
  ],
  'GET /v1/subscriptions/0': [[undefined, 'id is 0; give a whole number from 1.']],
  'GET /v1/subscriptions?limit=many': [
    [undefined, 'limit is not usable; give a whole number from 1 to 500.'],
  ],
  'GET /v1/keys?page=2': [[undefined, 'page is unknown; there are limit and cursor.']],
};

const wrongMembers = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`, 1]));

describe('what is wrong with a request', () => {
  test('is said of each field: its name, its fault and what is allowed', async (t) => {
    const { ask } = await startOperator(t);
    const cases = Object.entries(faults).flatMap(([route, of]) =>
      of.map((each) => [route, ...each] as const),
    );
    for (const [route, body, ...expected] of cases) {
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

  test('of many wrong members twenty are named, and of a body with more than a hundred values the first', async (t) => {
    const operator = await startOperator(t);
    // beside the wrong ones: the body, audience, message and what the message has
    for (const [count, named, end] of [
      [30, 20, / And 10 more\.$/],
      [95, 20, / And 75 more\.$/],
      [96, 1, /\.$/],
      [200, 1, /\.$/],
    ] as const) {
      const body = { audience: 'all', message, ...wrongMembers(count) };
      const { errors, detail } = await refusal(operator, '/v1/broadcasts', body);
      assert.equal(errors.length, named, `${count} wrong ones`);
      assert.match(detail, end);
    }
  });

  test('a long name is shown by its beginning and its end, and an odd one without what a terminal obeys', async (t) => {
    const operator = await startOperator(t);
    const body = { audience: 'all', message, [`b${'a'.repeat(60_000)}z`]: 1 };
    const { errors, detail } = await refusal(operator, '/v1/broadcasts', body);
    assert.match(errors[0]!.pointer, /^\/ba{90,100}…a{90,100}z$/);
    assert.match(detail, /^ba{40,50}…a{40,50}z is unknown; there are audience, .+ and receipts\.$/);
    assert(detail.length <= 2000);
    const odd = { audience: 'all', message, 'a\u202eb': 1 };
    const answer = await (await operator.ask('/v1/broadcasts', { method: 'POST', body: odd })).text();
    assert.ok(answer.includes(String.raw`a\u202eb is unknown`), answer);
    assert.ok(!answer.includes('\u202e'));
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

  test('a long form that is wrong is answered by a short page, though each character may become six', async (t) => {
    const { visitor } = await openConsole(t);
    for (const [fields, words] of [
      [{ audience: 'ids', ids: 'x,'.repeat(12_000) }, /whole numbers from 1/],
      [{ title: '"'.repeat(8000) }, /too long to be shown again/],
    ] as const) {
      const page = await visitor.compose({ ...message, ...fields });
      assert.equal(page.status, 400);
      assert(page.html.length < 65_536);
      assert.match(page.html, words);
    }
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
