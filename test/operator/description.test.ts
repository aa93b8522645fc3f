// The description document of the operator's API: valid OpenAPI 3.1, complete, and true: its examples work, and the answers
// are as it says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { OpenApiDocument, OperationObject } from '../../src/http/description/openapi-document.ts';
import {
  assertNamedModels,
  assertPatternsOfFormats,
  assertPlainPatterns,
  dereference,
} from '../service/dereference.ts';
import { startOperator, startStage, stoppedClock } from './running-operator.ts';

type Content = Readonly<Record<string, { readonly schema: object; readonly example: unknown }>>;
type Responses = Readonly<Record<string, { readonly content?: Content }>>;

const operationsOf = ({ paths }: OpenApiDocument): readonly (readonly [string, string, OperationObject])[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [method.toUpperCase(), path, operation] as const),
  );

test('/openapi.json is valid OpenAPI 3.1, and every route of it is there and needs a token, with its parameters', async (t) => {
  const { app, read, routes } = await startOperator(t);
  const document = await read<OpenApiDocument>('/openapi.json');
  const { valid, errors } = await new Validator().validate(
    structuredClone(document) as object as Record<string, unknown>,
  );
  assert(valid, JSON.stringify(errors));
  assertPlainPatterns(document);
  for (const [method, path, { security, responses }] of operationsOf(document)) {
    const url = path.replaceAll(/\{(\w+)\}/g, ':$1');
    assert(app.hasRoute({ method: method as 'GET', url }), `${method} ${path}`);
    assert.deepEqual(security, [{ token: [] }], path);
    assert('401' in responses && '403' in responses && '421' in responses, path);
  }
  // the console is for people
  const ofApi = routes.filter(({ method, path }) => method !== 'HEAD' && !/^\/(?:console|$)/.test(path));
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
  const operations = operationsOf(document);
  const ids = operations.map(([, , { operationId }]) => operationId);
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
  await store.senders.put({
    id: 'one',
    machine: 'push-1',
    processId: 7,
    kind: 'worker',
    startedAtMs: 1,
    pushServices: [
      {
        origin: 'https://push.example.net',
        connections: 0,
        inFlight: 0,
        queued: 0,
        maxInFlight: 9,
        answers: 0,
        throttled: 0,
        breaker: 'open',
        unreachableMs: 65_000,
      },
    ],
  });
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
    ([one], [other]) => Number(one === 'DELETE') - Number(other === 'DELETE'),
  );
  for (const [method, path, { requestBody, responses }] of ordered) {
    if (path.startsWith('/v1/held-deletions/')) continue;
    const isOfBroadcast = path.startsWith('/v1/broadcasts/');
    const isRemovedAlready = method === 'DELETE' && path.startsWith('/v1/subscriptions/');
    const id = path.startsWith('/v1/alarms/') ? alarm : isOfBroadcast || isRemovedAlready ? 2 : 1;
    const query = method === 'DELETE' && !path.includes('{') ? '?user=42' : '';
    const body = requestBody?.content['application/json']?.example;
    // A stream of events would go on for as long as its broadcast.
    const headers: Record<string, string> = path.endsWith('/events') ? { 'last-event-id': '0-done' } : {};
    const url = path.replace('{id}', String(id)).replace('{name}', 'news');
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
  for (const [method, path, { responses }] of operations) {
    for (const [status, { content }] of Object.entries(responses as Responses)) {
      const json = content?.['application/json'];
      if (json === undefined) continue;
      assert(
        ajv.validate(json.schema, json.example),
        `${method} ${path} ${status}: ${JSON.stringify(ajv.errors)}`,
      );
    }
  }
});
