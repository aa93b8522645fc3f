import * as deskbell from 'deskbell';
import * as webPush from 'deskbell/web-push';
import { expect, test, vi } from 'vitest';
import { push } from '../push.ts';

vi.mock('deskbell/client');

test('it is loaded as it is', async () => {
  expect(await push()).toMatchObject({ sent: 'accepted', warnings: [] });
});

test('exports are spied on, and a module is mocked whole', async () => {
  vi.spyOn(webPush.default, 'sendNotification').mockResolvedValue({ statusCode: 201, body: '', headers: {} });
  expect((await webPush.default.sendNotification({ endpoint: '' })).statusCode).toBe(201);
  expect(vi.isMockFunction((await import('deskbell/client')).createClient)).toBe(true);
  expect(vi.isMockFunction(deskbell.createSender)).toBe(false);
});
