// The description document of the operator's API: valid OpenAPI 3.1, complete, and true in what it says of each route.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { OpenApiDocument } from '../../src/http/description/openapi-document.ts';
import { startOperator } from './running-operator.ts';

test('/openapi.json is valid OpenAPI 3.1 and describes every route of the API', async (t) => {
  const { app, read } = await startOperator(t);
  const document = await read<OpenApiDocument>('/openapi.json');
  const { valid, errors } = await new Validator().validate(
    structuredClone(document) as object as Record<string, unknown>,
  );
  assert(valid, JSON.stringify(errors));
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  for (const route of described) {
    const [method = '', path = ''] = route.split(' ');
    assert(app.hasRoute({ method: method as 'GET', url: path.replaceAll(/\{(\w+)\}/g, ':$1') }), route);
  }
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, { security, responses }] of Object.entries(methods)) {
      const where = `${method} ${path}`;
      assert.deepEqual(security, [{ token: [] }], where);
      assert('401' in responses && '403' in responses && '421' in responses, where);
    }
  }
});
