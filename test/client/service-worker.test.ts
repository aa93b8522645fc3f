// How the service worker reads payloads, as a pure function: the script is run as a browser runs it, in a global scope
// of its own, and its `readPayload` is called there. That the result is shown is proved in test/browser/.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import * as fc from 'fast-check';
import { unusualPayloads } from './unusual-payloads.ts';

interface ReadMessage {
  readonly title: string;
  readonly message: string;
}

/** As far as the service worker uses the browser's class of this name: the bytes, decoded with a byte order mark kept as Chromium does. */
const pushMessageData = (bytes: Uint8Array) => ({
  text: () => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes),
});

const readPayload = await loadReadPayload();
const read = (payload: string | Uint8Array) =>
  readPayload(pushMessageData(typeof payload === 'string' ? new TextEncoder().encode(payload) : payload));

async function loadReadPayload(): Promise<(data: ReturnType<typeof pushMessageData> | null) => ReadMessage> {
  const file = join(import.meta.dirname, '../../src/client/service-worker.ts');
  const scope = createContext({
    self: { addEventListener: () => undefined, location: { href: 'https://example.org/service-worker.js' } },
    URL,
  });
  runInContext(stripTypeScriptTypes(await readFile(file, 'utf8')), scope);
  return scope['readPayload'];
}

for (const { payload, title, body } of unusualPayloads) {
  test(`the payload ${payload.toString().slice(0, 50)} is read as "${title.slice(0, 50)}"`, () => {
    const result = read(payload);
    assert.equal(result.title, title);
    assert.equal(result.message, body);
  });
}

test('a message without payload has the default title', () => {
  assert.equal(readPayload(null).title, 'New message');
});

test('further members of the payload are kept', () => {
  assert.equal(JSON.stringify(read('{"title":"t","url":"/x"}')), '{"title":"t","url":"/x","message":""}');
});

const isReadable = ({ title, message }: ReadMessage): boolean =>
  typeof title === 'string' && title.trim() !== '' && typeof message === 'string';

test('any bytes are read as a title that is not empty and a text', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 4096 }), (bytes) => isReadable(read(bytes))));
});

test('any JSON is read so, with any values of title and message', () => {
  const lengths = { maxLength: 100 };
  const values = fc.jsonValue();
  fc.assert(
    fc.property(
      fc.oneof(
        values,
        fc.record({ title: values, message: values }),
        fc.string({ unit: 'binary', ...lengths }),
      ),
      (value) => isReadable(read(JSON.stringify(value))),
    ),
  );
});
