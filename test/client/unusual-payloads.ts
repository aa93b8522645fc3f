// Payloads that are not `{"title": "…", "message": "…"}`, and what is to be shown for each. The pure reading and the
// browsers' tests are held to the same list.

export interface UnusualPayload {
  readonly payload: string | Uint8Array;
  readonly title: string;
  readonly body: string;
}

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

const text: readonly UnusualPayload[] = [
  { payload: 'plain text', title: 'New message', body: 'plain text' },
  { payload: '{broken', title: 'New message', body: '{broken' },
  { payload: '', title: 'New message', body: '' },
  { payload: Uint8Array.of(0xff, 0xfe, 0x41), title: 'New message', body: '\uFFFD\uFFFDA' },
  { payload: 'x'.repeat(3900), title: 'New message', body: 'x'.repeat(3900) },
];

const jsonThatIsNoObject: readonly UnusualPayload[] = [
  '"a JSON string"',
  'null',
  '17',
  'true',
  '[1,{"title":"no"}]',
  nested(1900),
].map((payload) => ({ payload, title: 'New message', body: payload }));

const objects: readonly UnusualPayload[] = [
  { payload: '{}', title: 'New message', body: '' },
  { payload: '{"title":"Only a title"}', title: 'Only a title', body: '' },
  { payload: '{"message":"only a message"}', title: 'New message', body: 'only a message' },
  { payload: '{"title":null,"message":null}', title: 'New message', body: '' },
  { payload: '{"title":"","message":"body"}', title: '', body: 'body' },
  { payload: '{"title":"","message":" \\n"}', title: 'New message', body: ' \n' },
  { payload: '{"title":1,"message":false}', title: '1', body: 'false' },
  {
    payload: '{"title":{"toString":1},"message":{"valueOf":1}}',
    title: '{"toString":1}',
    body: '{"valueOf":1}',
  },
  { payload: '{"title":[1,2],"message":[]}', title: '[1,2]', body: '[]' },
  { payload: '{"title":{"toJSON":"x"}}', title: '{"toJSON":"x"}', body: '' },
  { payload: '{"__proto__":{"title":"inherited"}}', title: 'New message', body: '' },
  { payload: '\uFEFF{"title":"after a byte order mark"}', title: 'after a byte order mark', body: '' },
  { payload: '{"title":"\\ud83d","message":"a\\udd14b"}', title: '\ud83d', body: 'a\udd14b' },
  { payload: `{"title":"deep","extra":${nested(1900)}}`, title: 'deep', body: '' },
  { payload: `{"title":${nested(1900)}}`, title: nested(1900), body: '' },
];

export const unusualPayloads: readonly UnusualPayload[] = [...text, ...jsonThatIsNoObject, ...objects];
