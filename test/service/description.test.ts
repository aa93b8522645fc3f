// The description document: valid by someone else's validator, made from the schemas that validate, complete, and its
// examples true.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv } from 'ajv';
import { Compile } from 'typebox/compile';
import { type ServiceErrorCode, serviceErrors } from '../../src/errors/catalogue.ts';
import {
  assertNamedModels,
  assertPatternsOfFormats,
  assertPlainPatterns,
  dereference,
} from './dereference.ts';
import type { Document, OperationDescription } from './description-fuzz.ts';
import { readDescription, sendJson, startService, startServiceForSuite } from './running-service.ts';

const receiptKey = new Uint8Array(32);

describe('the description document', () => {
  const service = startServiceForSuite({ receiptKey });
  /** As it is answered, and with each model where it is used. */
  let named: Document;
  let document: Document;
  let operations: [string, OperationDescription][];

  before(async () => {
    const response = await fetch(`${service.base}/openapi.json`);
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    named = (await response.json()) as Document;
    document = dereference(named);
    operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, OperationDescription] => [
        `${method.toUpperCase()} ${path}`,
        operation,
      ]),
    );
  });

  const ok = (name: string, status = '200') =>
    operations.find(([operation]) => operation === name)![1].responses[status]!;

  test('is OpenAPI 3.1 to an independent validator, with its version', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(named) as never);
    assert.equal(errors, undefined);
    assert.equal(valid, true);
    assert.match(document.openapi, /^3\.1\.\d$/);
    assert.match(document.info.version, /^\d+\.\d+\.\d+$/);
  });

  test('has valid JSON Schemas of what requests carry', () => {
    const ajv = new Ajv({
      strict: false,
      strictSchema: true,
      formats: { text: true, 'receipt-token': true },
    });
    for (const [name, { parameters = [], requestBody }] of operations) {
      const media = Object.values(requestBody?.content ?? {});
      for (const { schema } of [...parameters, ...media])
        assert(ajv.validateSchema(schema), `${name}: ${JSON.stringify(ajv.errors)}`);
    }
  });

  test('has patterns that every validator of ECMA-262 reads in the same way', () =>
    assertPlainPatterns(named));

  test('names each operation once, a verb first, and each object with members as a model; its formats have patterns', () => {
    const ids = operations.map(([, { operationId }]) => operationId);
    assert.equal(new Set(ids).size, ids.length);
    for (const id of ids) assert.match(id, /^[a-z]+([A-Z][a-z]+)*$/);
    assertNamedModels(named);
    assertPatternsOfFormats(named);
  });

  test('gives every answer with a body an example that its schema takes', () => {
    for (const [name, { responses }] of operations) {
      for (const [status, { content = {} }] of Object.entries(responses)) {
        for (const media of Object.values(content)) {
          const examples = media.examples
            ? Object.values(media.examples).map(({ value }) => value)
            : [media.example];
          assert.notEqual(examples.length, 0);
          for (const example of examples) {
            assert.notEqual(example, undefined, `${name} ${status} has an example`);
            assert.deepEqual(Compile(media.schema).Errors(example), [], `${name} ${status}`);
          }
        }
      }
    }
  });

  test('gives every request body an example that its schema takes, and the service, too', async () => {
    for (const [name, { requestBody }] of operations) {
      if (requestBody === undefined) continue;
      const { schema, example } = requestBody.content['application/json']!;
      assert.deepEqual(Compile(schema).Errors(example), [], name);
      const [method = '', path = ''] = name.split(' ');
      const response = await sendJson(service.base, method, path.replace('{user_id}', '1'), example);
      assert.ok(response.ok, `${name}: ${response.status}`);
    }
  });

  test('describes each error under the status that the catalogue gives it, those that are possible everywhere too', () => {
    for (const [name, { responses, summary }] of operations) {
      assert.ok(summary.length > 0, name);
      for (const status of ['400', '408', '431', '500']) assert.ok(responses[status], `${name} ${status}`);
      for (const [status, { content = {}, description }] of Object.entries(responses)) {
        const media = content['application/problem+json'];
        if (Number(status) < 400) continue;
        assert.ok(media, `${name} ${status} is a problem`);
        for (const code of Object.keys(media.examples!) as ServiceErrorCode[]) {
          assert.equal(String(serviceErrors[code].status), status);
          assert.ok(description.includes(code));
        }
      }
    }
  });

  test('describes the successful answers of the specification', async () => {
    for (const name of ['GET /vapidKey', 'POST /webPush', 'GET /api/get', 'POST /api/post']) {
      assert.equal((ok(name).content!['application/json']!.schema as { type?: string }).type, 'string');
    }
    assert.equal(ok('PUT /v1/user/{user_id}').content, undefined);
    assert.equal(ok('DELETE /webPush', '204').content, undefined);
    const { properties } = ok('GET /v1/user/{user_id}').content!['application/json']!.schema as unknown as {
      properties: { id: object };
    };
    assert.deepEqual(
      { ...properties.id, description: '' },
      { type: 'integer', format: 'int64', description: '' },
    );
  });

  test('has paths that hold under any prefix', async (t) => {
    const prefixed = await startService({ prefix: '/deep/push', receiptKey }, t);
    const other = await readDescription(prefixed.base);
    assert.deepEqual(Object.keys(other.paths), Object.keys(document.paths));
    const server = new URL(other.servers[0].url, `${prefixed.base}/openapi.json`);
    const response = await fetch(`${server.href.replace(/\/$/, '')}/vapidKey`);
    assert.equal(response.status, 200);
  });
});
