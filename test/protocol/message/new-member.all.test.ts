// A member is described in one place, and everything else follows: shown with one that is added to a copy of the source.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, after, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { IDBFactory, IDBKeyRange } from 'fake-indexeddb';
import { applyChange, createWorkingCopy, type WorkingCopy } from '../../../scripts/prove/working-copy.ts';
import { root } from '../../../scripts/repository.ts';
import type * as CheckMessage from '../../../src/protocol/message/check-message.ts';
import type * as ClientFolder from '../../../src/http/client-folder.ts';
import type * as HtmlTexts from '../../../src/http/description/html.ts';
import type * as Composer from '../../../src/operator/console/composer.ts';
import type * as MessageForm from '../../../src/operator/console/message-form.ts';
import type * as RunningOperator from '../../operator/running-operator.ts';

const description = `pulse: {
    schema: { type: 'array', maxItems: 32, items: { type: 'integer', minimum: 0, maximum: 10_000 } },
    description: 'Pattern of light and pauses, in milliseconds.',
    byDefault: 'as the device has it',
    field: { label: 'Pulse', group: 'behaviour' },
  },`;

const texts = { title: 't', message: 'm' };

suite('a member that is added to the table of members', () => {
  let copy: WorkingCopy;
  const importCopy = <Module>(path: string): Promise<Module> =>
    import(join(copy.folder, path)) as Promise<Module>;
  const readCopy = (path: string): Promise<string> => readFile(join(copy.folder, path), 'utf8');
  const run = (...words: readonly string[]) =>
    promisify(execFile)(process.execPath, words, { cwd: copy.folder });

  before(async () => {
    copy = await createWorkingCopy();
    const file = 'src/protocol/message/members.ts';
    const change = { what: '', file, search: 'renotify: {', replacement: `${description}\n  renotify: {` };
    await writeFile(join(copy.folder, file), applyChange(await readCopy(file), change));
    await run('scripts/generate-message.ts');
  });
  after(() => copy[Symbol.asyncDispose]());

  test('is checked', async () => {
    const { checkMessage } = await importCopy<typeof CheckMessage>('src/protocol/message/check-message.ts');
    const check = (pulse: unknown) => () => checkMessage({ ...texts, pulse } as typeof texts);
    check([200, 0, 10_000])();
    assert.throws(
      check([200, 10_001]),
      /pulse\[1\] of the message is not usable; give a whole number from 0 to 10000/,
    );
    assert.throws(check(['200']), /pulse\[0\] of the message is of type string/);
    assert.throws(
      check(Array.from({ length: 33 }, () => 1)),
      /pulse of the message is not usable; give an array of at most 32/,
    );
  });

  test('is taken by the operator’s API, and stands in its description', async (t) => {
    const { startOperator } = await importCopy<typeof RunningOperator>('test/operator/running-operator.ts');
    const { ask, read } = await startOperator(t);
    const send = (pulse: unknown) =>
      ask('/v1/broadcasts', { method: 'POST', body: { audience: 'all', message: { ...texts, pulse } } });
    assert.equal((await send([200])).status, 201);
    assert.equal((await send([10_001])).status, 400);
    const document = JSON.stringify(await read('/openapi.json'));
    assert.match(document, /"pulse":\{"type":"array","maxItems":32,[^}]*"maximum":10000\}/);
  });

  test('has a flag', async () => {
    const { stdout } = await run('src/cli/main.cts', 'send', '--help');
    assert.match(stdout, /--pulse <list> +Pattern of light/);
    await run('src/cli/main.cts', 'keys', 'generate', '--data', join(copy.folder, 'data'));
    const words = ['send', '--data', join(copy.folder, 'data'), '--all', '--title', 't', '--message', 'm'];
    const dryRun = await run('src/cli/main.cts', ...words, '--pulse', '200,100', '--dry-run');
    assert.match(dryRun.stdout, /"pulse":\[200,100\]/);
  });

  test('has a field in the console', async () => {
    const { renderComposer } = await importCopy<typeof Composer>('src/operator/console/composer.ts');
    const { html, htmlText } = await importCopy<typeof HtmlTexts>('src/http/description/html.ts');
    const session = { csrfToken: '' } as unknown as Parameters<typeof renderComposer>[1];
    const form = {
      fields: { pulse: '200, 100' },
      notes: {},
      faults: {},
      tags: [],
      isSample: false,
      channels: [],
      previews: html``,
    };
    const page = renderComposer({ ...form, channels: [], vapidPublicKey: undefined }, session);
    assert.match(htmlText(page), /<input type="text" name="pulse" value="200, 100"/);
    const { readFields, toMessage } = await importCopy<typeof MessageForm>(
      'src/operator/console/message-form.ts',
    );
    const message = toMessage(readFields({ ...texts, pulse: '200, 100' }));
    assert.deepEqual((message as { readonly pulse?: unknown }).pulse, [200, 100]);
  });

  test('is in the types of the library and of the page, and in the documentation', async () => {
    assert.match(
      await readCopy('src/protocol/message/message.ts'),
      /readonly pulse\?: readonly number\[\] \| undefined;/,
    );
    assert.match(await readCopy('src/client/push-message.ts'), /readonly pulse\?: readonly number\[\];/);
    assert.match(await readCopy('docs/notifications.md'), /\| `pulse` \| Pattern of light and pauses/);
  });

  test('is given to the notification by the service worker', async () => {
    const { bundleScript } = await importCopy<typeof ClientFolder>('src/http/client-folder.ts');
    const handlers = new Map<string, (event: object) => void>();
    const shown: unknown[] = [];
    const self = {
      addEventListener: (type: string, handler: (event: object) => void) => void handlers.set(type, handler),
      location: { pathname: '/service-worker.js' },
      clients: { matchAll: async () => [] },
      registration: {
        scope: 'https://example.org/',
        showNotification: async (_title: string, { pulse }: { readonly pulse?: unknown }) =>
          void shown.push(pulse),
      },
    };
    const scope = {
      self,
      indexedDB: new IDBFactory(),
      IDBKeyRange,
      navigator: {},
      setTimeout,
      clearTimeout,
      URL,
    };
    runInNewContext(await bundleScript('service-worker.js'), scope);
    const work: unknown[] = [];
    const data = { text: () => JSON.stringify({ ...texts, pulse: [200] }) };
    handlers.get('push')!({ data, waitUntil: (promise: unknown) => work.push(promise) });
    await Promise.all(work);
    assert.equal(JSON.stringify(shown), '[[200]]');
  });

  test('is one that the project does not have', async () => {
    assert.doesNotMatch(await readFile(join(root, 'src/protocol/message/members.ts'), 'utf8'), /pulse:/);
  });
});
