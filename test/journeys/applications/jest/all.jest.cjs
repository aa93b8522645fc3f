const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const webPush = require('deskbell/web-push');
const deskbell = require('deskbell');

jest.mock('deskbell/protocol');

test('each entry is required', () => {
  for (const entry of ['service', 'push-service', 'client', 'react', 'subscribe'])
    expect(Object.keys(require(`deskbell/${entry}`))).not.toEqual([]);
});

test('exports are spied on', async () => {
  jest.spyOn(webPush, 'sendNotification').mockResolvedValue({ statusCode: 201 });
  expect(await webPush.sendNotification({}, 'Hello')).toEqual({ statusCode: 201 });
  jest.spyOn(deskbell, 'createSender').mockReturnValue('replaced');
  expect(deskbell.createSender()).toBe('replaced');
  jest.restoreAllMocks();
  await expect(webPush.sendNotification({}, 'Hello')).rejects.toThrow('endpoint');
});

test('a module is mocked whole', () => {
  const { generateVapidKeys } = require('deskbell/protocol');
  expect(jest.isMockFunction(generateVapidKeys)).toBe(true);
  expect(generateVapidKeys()).toBeUndefined();
});

test('the service answers and a message is sent', async () => {
  const { createHandler, createSessionCookie } = require('deskbell/service');
  const { startPushService } = require('deskbell/push-service');
  const pushService = await startPushService({ tls: true });
  const { store, vapidKeys, sessionKey, close } = await deskbell.openDataDirectory(
    mkdtempSync(join(tmpdir(), 'deskbell-jest-')),
  );
  const handler = createHandler({ store, vapidPublicKey: vapidKeys.publicKey, sessionKey });
  expect((await handler(new Request('http://localhost/vapidKey'))).status).toBe(200);
  expect((await createSessionCookie({ sessionKey, value: 'x' })).cookie).toMatch(/^deskbell_session=/);
  const sender = deskbell.createSender({
    store,
    vapid: { ...vapidKeys, subject: 'mailto:push@example.org' },
    pushServices: [pushService.origin],
    ca: pushService.ca,
    threads: 1,
  });
  const { value } = pushService.createSinks(1)[Symbol.iterator]().next();
  const { endpoint, ...keys } = value;
  const message = { title: 'Hello', message: 'Tea is ready' };
  expect((await sender.send({ endpoint, keys }, message)).outcome.kind).toBe('accepted');
  await sender.close();
  await handler.close();
  await close();
  await pushService.close();
});
