// The description document of the operator's API: valid OpenAPI 3.1, complete, and true: its examples work, and the answers
// are as it says.
import assert from 'node:assert/strict';
import { createECDH, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv } from 'ajv';
import * as fc from 'fast-check';
import type { OpenApiDocument, OperationObject } from '../../src/http/description/openapi-document.ts';
import { operatorFormats } from '../../src/operator/validator.ts';
import {
  assertNamedModels,
  assertPatternsOfFormats,
  assertPlainPatterns,
  dereference,
} from '../service/dereference.ts';
import { type FormatValues, type JsonSchema, valuesFitting } from '../service/fitting-requests.ts';
import { startOperator, startStage, stoppedClock } from './running-operator.ts';
import { idlePushService, workerReport } from '../store/made-up-subscription.ts';

type Content = Readonly<Record<string, { readonly schema: object; readonly example: unknown }>>;
type Responses = Readonly<Record<string, { readonly content?: Content }>>;

interface Operation extends OperationObject {
  readonly method: string;
  readonly path: string;
}

const operationsOf = ({ paths }: OpenApiDocument): readonly Operation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  );

test('/openapi.json is valid OpenAPI 3.1, and every route of it is there and needs a token, with its parameters', async (t) => {
  const { app, read, routes } = await startOperator(t);
  const document = await read<OpenApiDocument>('/openapi.json');
  const { valid, errors } = await new Validator().validate(
    structuredClone(document) as object as Record<string, unknown>,
  );
  assert(valid, JSON.stringify(errors));
  assertPlainPatterns(document);
  for (const { method, path, security, responses } of operationsOf(document)) {
    const url = path.replaceAll(/\{(\w+)\}/g, ':$1');
    assert(app.hasRoute({ method: method as 'GET', url }), `${method} ${path}`);
    assert.deepEqual(security, [{ token: [] }], path);
    assert('401' in responses && '403' in responses && '421' in responses, path);
  }
  // the console is for people, and what is posted to bells is in the form of other tools
  const ofApi = routes.filter(({ method, path }) => method !== 'HEAD' && !/^\/(?:console|ring|$)/.test(path));
  assert.ok(ofApi.length > 40);
  for (const { method, options } of ofApi) {
    const path = options.url.replaceAll(/:(\w+)/g, '{$1}');
    const operation = document.paths[path]?.[method.toLowerCase()];
    const { params, querystring } = (options.schema ?? {}) as Record<string, { properties?: object }>;
    const expected = [
      ...Object.keys(params?.properties ?? {}).map((name) => `path ${name}`),
      ...Object.keys(querystring?.properties ?? {}).map((name) => `query ${name}`),
      ...Object.keys(options.config?.operation?.headers ?? {}).map((name) => `header ${name}`),
    ];
    const described = operation?.parameters?.map((parameter) => `${parameter.in} ${parameter.name}`) ?? [];
    assert.deepEqual(
      [operation?.operationId !== undefined, described],
      [true, expected],
      `${method} ${path}`,
    );
    for (const name of path.match(/(?<=\{)\w+/g) ?? [])
      assert.ok(expected.includes(`path ${name}`), `${method} ${path}`);
  }
});

test('every operation has a name of its own, objects with members are named models, and formats have patterns', async (t) => {
  const { read } = await startOperator(t);
  const document = await read<OpenApiDocument>('/openapi.json');
  const ids = operationsOf(document).map(({ operationId }) => operationId);
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, /^[a-z]+([A-Z][a-z]+)*$/);
  assertNamedModels(document);
  assertPatternsOfFormats(document);
  const names = Object.keys(document.components.schemas);
  for (const name of ['Broadcast', 'BroadcastPage', 'BroadcastRequest', 'Message', 'Audience', 'Problem'])
    assert(names.includes(name), name);
});

test('every example of a request works, and every answer has the form that the description says', async (t) => {
  const owners = [{ user: '42', tags: ['news'] }, {}];
  const { ask, read, sender, store } = await startStage(t, owners, { now: stoppedClock() });
  const alarm = 'unreachable%3Apush.example.net';
  const unreachable = { ...idlePushService, breaker: 'open', unreachableMs: 65_000 } as const;
  await store.senders.put({ ...workerReport, pushServices: [unreachable] });
  await (
    await sender.broadcast('all', { title: 'Ding dong', message: 'Tea is ready' })
  ).finished;
  await sender.createBroadcast(
    'all',
    { title: 'Later', message: 'Tea' },
    { startAt: new Date('2099-01-01T00:00Z') },
  );
  const document = dereference(await read<OpenApiDocument>('/openapi.json'));
  const ajv = new Ajv({ strict: false, validateFormats: false });
  const operations = operationsOf(document);
  // What removes comes last; a broadcast is paused, resumed and cancelled in the order of the document.
  const ordered = operations.toSorted(
    (one, other) => Number(one.method === 'DELETE') - Number(other.method === 'DELETE'),
  );
  for (const { method, path, requestBody, responses } of ordered) {
    if (path.startsWith('/v1/held-deletions/')) continue;
    const isOfBroadcast = path.startsWith('/v1/broadcasts/');
    const isRemovedAlready = method === 'DELETE' && path.startsWith('/v1/subscriptions/');
    const id = path.startsWith('/v1/alarms/') ? alarm : isOfBroadcast || isRemovedAlready ? 2 : 1;
    const asked = path.endsWith('/removal') ? '?receipt=x' : '';
    const query = method === 'DELETE' && !path.includes('{') ? '?user=42' : asked;
    const body = requestBody?.content['application/json']?.example;
    // A stream of events would go on for as long as its broadcast.
    const headers: Record<string, string> = path.endsWith('/events') ? { 'last-event-id': '0-done' } : {};
    const name = path.startsWith('/v1/bells/') ? 'backups' : 'news';
    const url = path.replace('{id}', String(id)).replace('{name}', name);
    const response = await ask(url + query, { method, body, headers });
    const text = await response.text();
    const where = `${method} ${path}: ${response.status} ${text}`;
    assert(response.ok, where);
    const described = (responses as Responses)[response.status];
    assert(described, where);
    const [type = ''] = (response.headers.get('content-type') ?? '').split(';');
    const schema = described.content?.[type]?.schema;
    assert.equal(schema === undefined, text === '', where);
    if (schema === undefined || type !== 'application/json') continue;
    assert(ajv.validate(schema, JSON.parse(text)), `${where} ${JSON.stringify(ajv.errors)}`);
  }
  for (const { method, path, responses } of operations) {
    for (const [status, { content }] of Object.entries(responses as Responses)) {
      const json = content?.['application/json'];
      if (json === undefined) continue;
      assert(
        ajv.validate(json.schema, json.example),
        `${method} ${path} ${status}: ${JSON.stringify(ajv.errors)}`,
      );
      // the text of examples for which src/operator/api/examples.ts has no better one
      assert(!JSON.stringify(json.example).includes('"text"'), `${method} ${path} ${status}`);
    }
  }
});

// The schemas of the operator's API are as strict as what is behind them: what they take is not refused as not valid. And each of
// their keywords and formats has words of its own.

/** Keywords that say something of a value; `src/http/validation.ts` has words for each. */
const knownKeywords = new Set(
  (
    'type const enum anyOf not required properties additionalProperties propertyNames minProperties maxProperties items minItems maxItems minLength ' +
    // the last ones say nothing of a value
    'maxLength minimum maximum pattern format description default examples'
  ).split(' '),
);

/** So that each part of a body is tried, also where more operations are added. */
const runsPerOperation = 10;

const schemasOf = ({ parameters = [], requestBody }: Operation): readonly JsonSchema[] => [
  ...parameters.filter((parameter) => parameter.in !== 'header').map(({ schema }) => schema),
  ...Object.values(requestBody?.content ?? {}).map(({ schema }) => schema as JsonSchema),
];

function* partsOf(schema: JsonSchema): Generator<JsonSchema> {
  yield schema;
  const { anyOf = [], items, properties = {}, additionalProperties, propertyNames } = schema;
  const map = typeof additionalProperties === 'object' ? [additionalProperties, propertyNames ?? {}] : [];
  for (const part of [...anyOf, ...(items ? [items] : []), ...map, ...Object.values(properties)])
    yield* partsOf(part);
}

test('each keyword and format of a request’s schema is one that has words', async (t) => {
  const { read } = await startOperator(t);
  const document = dereference(await read<OpenApiDocument>('/openapi.json'));
  for (const operation of operationsOf(document)) {
    for (const part of schemasOf(operation).flatMap((schema) => [...partsOf(schema)])) {
      const where = `${operation.operationId}: ${JSON.stringify(part)}`;
      for (const keyword of Object.keys(part)) assert(knownKeywords.has(keyword), where);
      if (part.format !== undefined) assert(Object.hasOwn(operatorFormats, part.format), where);
      if (part.pattern !== undefined) assert(part.format !== undefined, where);
    }
  }
});

type Schemas = Readonly<Record<'body' | 'querystring' | 'params', object | undefined>>;
type ByMediaType = Readonly<Record<string, { readonly schema: object }>>;

test('each route’s schemas are valid JSON Schema', async (t) => {
  const { routes } = await startOperator(t);
  const formats = Object.fromEntries(Object.keys(operatorFormats).map((name) => [name, true] as const));
  const ajv = new Ajv({ strict: false, strictSchema: true, formats });
  for (const { path, options } of routes) {
    const { body = {}, querystring = {}, params = {} } = (options.schema ?? {}) as Schemas;
    const bodies =
      'content' in body ? Object.values(body.content as ByMediaType).map(({ schema }) => schema) : [body];
    for (const schema of [...bodies, querystring, params])
      assert.doesNotThrow(() => ajv.compile(schema), path);
  }
});

test('the pattern beside a format takes what the format does', () => {
  for (const [name, values] of Object.entries(formatsOf('https://push.example.org'))) {
    const { pattern } = operatorFormats[name]!;
    if (pattern === undefined) continue;
    fc.assert(
      fc.property(values, (value) => new RegExp(pattern, 'u').test(String(value))),
      { numRuns: 50, seed: 20 },
    );
  }
  for (const [name, wrong] of Object.entries({
    user: 'a\nb',
    tag: '-news',
    'channel-name': 'a b',
    'bell-name': 'a b',
    tags: 'news,-de',
    link: 'javascript:alert(1)',
    picture: 'blob:x',
    language: 'd',
    'frequency-cap': '0/day',
    cron: '@daily',
    'channel-title': ' ',
    'data-name': '1x',
    topic: 'a\u0085',
    'plain-text': '\0',
    'action-name': '\t',
    'local-time': '24:00',
    'quiet-hours': '22:00',
    timezone: '+01:00',
    endpoint: 'ftp://x/',
    'p256-point': 'AAAA',
    'auth-secret': 'AAAA',
  }))
    assert.doesNotMatch(wrong, new RegExp(operatorFormats[name]!.pattern!, 'u'), name);
});

test('what fits a schema is not refused as not valid', async (t) => {
  const stage = await startStage(t, [{ user: '42', tags: ['news'] }]);
  const document = dereference(await stage.read<OpenApiDocument>('/openapi.json'));
  const formats = formatsOf(stage.pushService.origin);
  // A stream of events goes on; pausing and the like has its own tests.
  const operations = operationsOf(document).filter(({ path }) => !path.endsWith('/events'));
  const requestsOf = (operation: Operation) => {
    const { parameters = [], requestBody } = operation;
    const own = parameters.filter((parameter) => parameter.in !== 'header');
    const record = (place: string, isRequired: boolean) =>
      fc.record(
        Object.fromEntries(
          own
            .filter((parameter) => parameter.in === place && parameter.required === isRequired)
            .map(({ name, schema }) => [name, valuesFitting(schema, formats)]),
        ),
        { requiredKeys: [] },
      );
    const all = fc.record(
      Object.fromEntries(
        own
          .filter(({ required }) => required)
          .map(({ name, schema }) => [name, valuesFitting(schema, formats)]),
      ),
    );
    const schema = requestBody?.content['application/json']?.schema as JsonSchema | undefined;
    const body = schema === undefined ? fc.constant(undefined) : valuesFitting(schema, formats);
    // beside a body of JSON, a query is for text
    const query = schema === undefined ? record('query', false) : fc.constant({});
    return fc.tuple(all, query, body.map(withoutOtherRules)).map(([required, others, value]) => ({
      operationId: operation.operationId,
      values: { ...required, ...others } as Readonly<Record<string, unknown>>,
      value,
    }));
  };
  const requests = fc.oneof(...operations.map(requestsOf));
  const asked = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(requests, async ({ operationId, values, value }) => {
      const operation = operations.find((known) => known.operationId === operationId)!;
      const { method, path, parameters = [] } = operation;
      const query = new URLSearchParams(
        parameters
          .filter(({ name, in: place }) => place === 'query' && name in values)
          .map(({ name }) => [name, String(values[name])]),
      );
      const url = path.replace(/\{(\w+)\}/, (_, name: string) => encodeURIComponent(String(values[name])));
      const response = await stage.ask(`${url}?${query}`, { method, body: value });
      const text = await response.text();
      const isTooLarge = text.includes('ERR_PAYLOAD_TOO_LARGE') || response.status === 413;
      assert(response.status < 500, `${operationId} ${response.status}: ${text}`);
      assert(response.status !== 400 || isTooLarge, `${operationId}: ${text}`);
      asked.set(operationId, (asked.get(operationId) ?? 0) + 1);
    }),
    { numRuns: runsPerOperation * operations.length, seed: 20 },
  );
  assert.equal(asked.size, operations.length);
});

/** Rules over several members, which no schema says: those of local times, of the declarative form, of placeholders, of texts that are all blank, and names of buttons. */
function withoutOtherRules(value: unknown): unknown {
  const { message, ifTimePassed, ...options } = (value ?? {}) as {
    message?: Record<string, unknown>;
  } & Record<string, unknown>;
  if (message === undefined) return value;
  const { declarative: _declarative, mutable: _mutable, placeholders: _placeholders, ...others } = message;
  const { texts } = others as { texts?: Record<string, object> };
  const named =
    texts && Object.entries(texts).map(([language, text]) => [language, withNames(text)] as const);
  return {
    ...options,
    ...(options['localTime'] !== undefined && { ifTimePassed }),
    message: { ...withNames(others), ...(named && { texts: Object.fromEntries(named) }) },
  };
}

function withNames(text: { readonly title?: string; readonly actions?: readonly object[] }): object {
  const actions = text.actions?.map((action, index) => ({ ...action, action: `name ${index}` }));
  const title = text.title !== undefined && { title: `Tea ${text.title}` };
  return { ...text, ...title, ...(actions && { actions }) };
}

function formatsOf(pushService: string): FormatValues {
  const tag = fc.stringMatching(/^[a-zäßλ7][a-z\d._:-]{0,10}$/);
  return {
    user: fc.oneof(
      fc.constant('42'),
      fc
        .string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
        .filter((text) => text.isWellFormed() && !/\p{Cc}/u.test(text)),
    ),
    tag,
    'channel-name': tag,
    'bell-name': tag,
    tags: fc.array(tag, { maxLength: 3 }).map((tags) => tags.join(',')),
    link: fc.constantFrom('https://example.org/x', '/orders/7', '?a=b', ''),
    picture: fc.constantFrom('data:image/png;base64,AA==', 'icon.png'),
    language: fc.constantFrom('de', 'pt-BR'),
    'date-time': fc.integer({ min: 2030, max: 2090 }).map((year) => `${year}-01-01T09:00:00+01:00`),
    'frequency-cap': fc.integer({ min: 1, max: 9999 }).map((count) => `${count}/day`),
    cron: fc.constantFrom('0 9 * * 1', '*/5 * * * *'),
    'channel-title': fc.constantFrom('News', 'Новости'),
    'data-name': fc.constantFrom('name', '_x1'),
    'data-text': fc.string({ unit: 'grapheme', maxLength: 20 }),
    topic: fc.string({ unit: 'grapheme', maxLength: 20 }),
    'plain-text': fc.string({ unit: 'grapheme', maxLength: 20 }),
    'local-time': fc.constantFrom('09:00', '23:59'),
    'quiet-hours': fc.constantFrom('22:00-07:00', '12:00-13:30'),
    timezone: fc.constantFrom('UTC', 'Europe/Berlin'),
    endpoint: fc.constant(`${pushService}/nobody`),
    'p256-point': fc.constant(null).map(() => createECDH('prime256v1').generateKeys().toString('base64url')),
    'auth-secret': fc.constant(null).map(() => randomBytes(16).toString('base64')),
  };
}
