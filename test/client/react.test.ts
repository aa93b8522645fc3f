// `usePush` where React renders a page on a server. What it does in a page is proved in test/browser/.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';

// Their types have names of a browser's, which are not to be those of other tests.
const importClient = (file: string) => import(import.meta.resolve(`../../src/client/${file}`));
const require = createRequire(import.meta.url);
const { createElement } = require('react');
const { renderToString } = require('react-dom/server');

test('a component that uses push is rendered on a server as long as nothing is known', async () => {
  const { createClient } = await importClient('index.ts');
  const { usePush } = await importClient('react.ts');
  const client = createClient({ serviceUrl: '/push/' });
  const Notifications = () => {
    const { state, reason, messages, channels } = usePush(client, { channels: true });
    return createElement('p', null, `${state} ${reason} ${messages.length} ${channels}`);
  };
  assert.equal(renderToString(createElement(Notifications)), '<p>unknown undefined 0 undefined</p>');
  // as where Next.js renders with its own copy of React, which gives this one no component to render
  assert.equal(usePush(client).state, 'unknown');
});
