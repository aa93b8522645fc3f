// Both description documents before the two judges that people run on theirs: Spectral and Redocly, of npm.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { makeOnce } from '../tools/make-once.ts';
import { startOperator } from './operator/running-operator.ts';
import { startService } from './service/running-service.ts';

const judges = [
  '@redocly/openapi-core@2.64.0',
  '@stoplight/spectral-core@1.24.1',
  '@stoplight/spectral-parsers@1.0.5',
  '@stoplight/spectral-rulesets@1.23.1',
];

/** Rules that both documents leave: there is no address to name for a Deskbell of others, and a summary may say everything. */
const left = { 'info-contact': 'off', 'operation-description': 'off' };

suite('a description document has no error and no warning', () => {
  let require: NodeJS.Require;
  before(async () => {
    const folder = await makeOnce('description-judges', async (path) => {
      await writeFile(join(path, 'package.json'), '{}');
      const words = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', ...judges];
      await promisify(execFile)('npm', words, { cwd: path });
    });
    require = createRequire(join(folder, 'package.json'));
  });

  for (const [name, read] of [
    ['of the operator', async (t) => (await startOperator(t)).ask('/openapi.json')],
    [
      'of the public service',
      async (t) => fetch(`${(await startService({ receiptKey: new Uint8Array(32) }, t)).base}/openapi.json`),
    ],
  ] satisfies readonly (readonly [string, (t: import('node:test').TestContext) => Promise<Response>])[]) {
    test(`${name}, by Spectral`, async (t) => {
      const { Spectral, Document } = require('@stoplight/spectral-core');
      const { Json } = require('@stoplight/spectral-parsers');
      const { oas } = require('@stoplight/spectral-rulesets');
      const spectral = new Spectral();
      spectral.setRuleset({ extends: [[oas, 'recommended']], rules: left });
      const text = await (await read(t)).text();
      assert.deepEqual(await spectral.run(new Document(text, Json)), []);
      const wrong = JSON.stringify({ ...JSON.parse(text), paths: { '/x': { get: { responses: {} } } } });
      assert.notDeepEqual(await spectral.run(new Document(wrong, Json)), [], 'it judges');
    });

    test(`${name}, by Redocly`, async (t) => {
      const { createConfig, lintFromString } = require('@redocly/openapi-core');
      const config = await createConfig({ extends: ['recommended-strict'] });
      const source = await (await read(t)).text();
      const judge = (text: string): Promise<readonly object[]> =>
        lintFromString({ source: text, absoluteRef: '/openapi.json', config });
      assert.deepEqual(await judge(source), []);
      assert.notDeepEqual(await judge(source.replace('"license"', '"licence"')), [], 'it judges');
    });
  }
});
