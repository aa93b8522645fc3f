// The module mocks of node:test, of what `import` loads and of what `require` loads.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { mock, test } from 'node:test';

const require = createRequire(import.meta.url);
const sendNotification = async () => 'replaced';

test('a module is replaced, and restored', async () => {
  const context = mock.module('deskbell/web-push', {
    exports: { default: { sendNotification }, sendNotification },
  });
  const { default: webPush, sendNotification: named } = await import('deskbell/web-push');
  assert.equal(await webPush.sendNotification(), 'replaced');
  assert.equal(named, sendNotification);
  context.restore();
});

test('a function is replaced for everyone who has the module', async () => {
  const { default: webPush } = await import('deskbell/web-push');
  const required = require('deskbell/web-push');
  mock.method(webPush, 'sendNotification', sendNotification);
  assert.equal(await required.sendNotification(), 'replaced');
});
