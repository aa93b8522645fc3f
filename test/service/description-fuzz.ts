// Requests made up from the description document, good and bad, and what must hold for each answer: no 5xx, and
// nothing that the document does not describe. Used by a short test and by soak/service-fuzz.test.ts.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import * as fc from 'fast-check';
import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { dereference } from './dereference.ts';
import { valuesFitting, type JsonSchema } from './fitting-requests.ts';
import { readDescription } from './running-service.ts';

export interface FuzzTarget {
  readonly base: string;
  /** Of a session that the service takes. */
  readonly cookie: string;
  readonly csrfToken: string;
}

export interface FuzzOptions {
  readonly runs: number;
  readonly seed: number;
  /** Called now and then with the number of requests so far. */
  onProgress?(requests: number): Promise<void> | void;
}

interface Media {
  readonly schema: JsonSchema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export interface OperationDescription {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly schema: JsonSchema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<
    Record<string, { description: string; headers: object; content?: Readonly<Record<string, Media>> }>
  >;
}

export interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationDescription>>>>;
  readonly components: { readonly schemas: { readonly Problem: TSchema } };
}

interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
}

/** The number of answers by operation and status, such as `POST /webPush 200`. */
export type Answers = ReadonlyMap<string, number>;

/**
 * Sends `runs` generated requests, one after the other.
 *
 * @throws {Error} the smallest request found that was answered wrongly, with the seed that finds it again
 */
export const fuzz = (target: FuzzTarget, options: FuzzOptions): Promise<Answers> =>
  sendAll(target, requestsTo, options);

/** Sends `runs` requests that fit the document, one after the other. None of them may be a 400, a 413 or a 415. */
export const fuzzFitting = (target: FuzzTarget, options: FuzzOptions): Promise<Answers> =>
  sendAll(target, requestsFitting, options, [400, 413, 415]);

async function sendAll(
  target: FuzzTarget,
  requestsOf: (document: Document, target: FuzzTarget) => fc.Arbitrary<FuzzRequest>,
  { runs, seed, onProgress }: FuzzOptions,
  excluded: readonly number[] = [],
): Promise<Answers> {
  const document: Document = dereference(await readDescription(target.base));
  const check = createChecker(document);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const answers = new Map<string, number>();
  let requests = 0;
  const property = fc.asyncProperty(requestsOf(document, target), async (generated) => {
    const answer = await send(target.base, generated, agent);
    check(generated, answer);
    const name = `${generated.method} ${generated.path} ${answer.status}`;
    assert.ok(!excluded.includes(answer.status), `${name}: ${answer.body.toString()}`);
    answers.set(name, (answers.get(name) ?? 0) + 1);
    requests += 1;
    if (requests % 1000 === 0) await onProgress?.(requests);
  });
  await fc.assert(property, { numRuns: runs, seed }).finally(() => agent.destroy());
  return answers;
}

function requestsFitting(document: Document, { cookie, csrfToken }: FuzzTarget): fc.Arbitrary<FuzzRequest> {
  return fc.constantFrom(...operationsOf(document)).chain(({ method, path, operation }) => {
    const { parameters = [], requestBody } = operation;
    const values = fc.record(
      Object.fromEntries(parameters.map(({ name, schema }) => [name, valuesFitting(schema)])),
    );
    const schema = requestBody?.content['application/json']?.schema;
    const body = schema === undefined ? fc.constant(undefined) : valuesFitting(schema);
    return fc.tuple(values, body, fc.boolean()).map(([given, value, isHeaderSent]) => {
      const own = parameters.filter((parameter) => parameter.in === 'header' && isHeaderSent);
      return {
        method,
        path,
        url: path.replace(/\{(\w+)\}/, (_, name: string) => encodeURIComponent(String(given[name]))),
        headers: {
          cookie,
          'csrf-token': csrfToken,
          ...(value !== undefined && { 'content-type': 'application/json' }),
          ...Object.fromEntries(own.map(({ name }) => [name, String(given[name])])),
        },
        body: value === undefined ? undefined : toBytes(value),
      };
    });
  });
}

function operationsOf({ paths }: Document) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

function requestsTo(document: Document, target: FuzzTarget): fc.Arbitrary<FuzzRequest> {
  return fc.constantFrom(...operationsOf(document)).chain(({ method, path, operation }) =>
    fc.record({
      method: fc.constant(method),
      path: fc.constant(path),
      url: urlsOf(path),
      headers: headersFor(target),
      body: bodiesOf(operation),
    }),
  );
}

function urlsOf(path: string): fc.Arbitrary<string> {
  const segment = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 300 }).map((text) => encodeURIComponent(text.toWellFormed())),
    fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }).map(String),
    fc.constantFrom(
      '1',
      '0',
      '-1',
      '',
      '.',
      '..',
      '%00',
      '%2F',
      '%zz',
      '%ff',
      '%E0%A4',
      '1%0d%0aX:%20y',
      'x'.repeat(5000),
    ),
  );
  const query = fc.oneof(
    { weight: 4, arbitrary: fc.constant('') },
    { weight: 1, arbitrary: fc.webQueryParameters().map((text) => `?${text}`) },
  );
  return fc.tuple(segment, query).map(([text, rest]) => path.replace(/\{\w+\}/, () => text) + rest);
}

const visible = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCodePoint(code)),
});

/** A header now and then. */
const header = (name: string, ...values: fc.Arbitrary<string>[]): fc.Arbitrary<Record<string, string>> =>
  fc.oneof(
    { weight: 2, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.oneof(...values).map((value) => ({ [name]: value })) },
  );

function headersFor({ cookie, csrfToken }: FuzzTarget): fc.Arbitrary<Record<string, string>> {
  return fc
    .tuple(
      fc.oneof(
        { weight: 4, arbitrary: fc.constant({ 'content-type': 'application/json' }) },
        {
          weight: 1,
          arbitrary: header(
            'content-type',
            visible,
            fc.constantFrom('text/plain', 'application/json; charset=utf-16'),
          ),
        },
      ),
      header(
        'cookie',
        fc.constant(cookie),
        visible.map((text) => `deskbell_session=${text}`),
      ),
      header('csrf-token', fc.constant(csrfToken), visible),
      header('if-none-match', fc.constant('*'), visible),
      header('origin', fc.constantFrom('https://a.example', 'null')),
      header('content-encoding', fc.constantFrom('gzip', 'identity')),
      header('accept', visible),
      header('expect', fc.constant('something')),
    )
    .map((parts) => Object.assign({}, ...parts) as Record<string, string>);
}

function bodiesOf({ requestBody }: OperationDescription): fc.Arbitrary<Uint8Array | undefined> {
  if (requestBody === undefined) return fc.constant(undefined);
  const { schema, example } = requestBody.content['application/json']!;
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(toBytes(example)) },
    { weight: 6, arbitrary: valuesOf(schema).map(toBytes) },
    { weight: 2, arbitrary: fc.jsonValue().map(toBytes) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 100 }) },
    {
      weight: 1,
      arbitrary: fc.integer({ min: 16_000, max: 40_000 }).map((length) => Buffer.alloc(length, '[')),
    },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
}

const toBytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value) ?? '');

/** Values near a schema: members are left out or have another type now and then. */
function valuesOf({ anyOf, properties, type }: JsonSchema): fc.Arbitrary<unknown> {
  if (anyOf) return fc.oneof(...anyOf.map(valuesOf));
  const near =
    type === 'object'
      ? fc.record(
          Object.fromEntries(
            Object.entries(properties ?? {}).map(([name, member]) => [name, valuesOf(member)]),
          ),
          { requiredKeys: [] },
        )
      : fc.oneof(fc.string({ unit: 'binary' }), fc.base64String(), fc.webUrl());
  return fc.oneof({ weight: 9, arbitrary: near }, { weight: 1, arbitrary: fc.jsonValue() });
}

interface Answer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: Buffer;
}

async function send(
  base: string,
  { method, url, headers, body }: FuzzRequest,
  agent: Agent,
): Promise<Answer> {
  const { hostname, port } = new URL(base);
  const length = body === undefined ? {} : { 'content-length': body.length };
  // Header values are trimmed as a sender has to (RFC 9110 §5.5).
  const trimmed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.trim()]));
  const outgoing = request({ hostname, port, method, path: url, headers: { ...trimmed, ...length }, agent });
  outgoing.end(body);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return {
    status: response.statusCode ?? 0,
    contentType: response.headers['content-type']?.split(';')[0],
    body: Buffer.concat(chunks),
  };
}

/** Holds an answer against what the document says of this operation and status. */
function createChecker(document: Document): (generated: FuzzRequest, answer: Answer) => void {
  const validators = new Map<object, Validator>();
  const compile = (schema: JsonSchema): Validator => {
    const known = validators.get(schema) ?? Compile(schema as TSchema);
    validators.set(schema, known);
    return known;
  };
  return ({ method, path }, { status, contentType, body }) => {
    const operation = document.paths[path]![method.toLowerCase()]!;
    const name = `${method} ${path} ${status}`;
    assert.ok(status < 500, `${name}: ${body.toString()}`);
    const response = operation.responses[status];
    assert.ok(response, `${name} is not described: ${body.toString()}`);
    if (response.content === undefined) {
      assert.equal(body.length, 0, `${name} has a body`);
      return;
    }
    const media = response.content[contentType ?? ''];
    assert.ok(media, `${name} is of type ${contentType}`);
    if (contentType === 'application/problem+json') {
      const problem = JSON.parse(body.toString()) as { code: string; status: number };
      assert.ok(compile(document.components.schemas.Problem).Check(problem), `${name}: ${body.toString()}`);
      assert.ok(media.examples?.[problem.code], `${name} with ${problem.code} is not described`);
      assert.equal(problem.status, status);
    } else if (contentType === 'application/json') {
      assert.ok(compile(media.schema).Check(JSON.parse(body.toString())), `${name}: ${body.toString()}`);
    }
  };
}
