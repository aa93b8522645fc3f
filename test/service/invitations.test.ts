// Registrations by invitation: who is let in, what an invitation is consumed by, and what stays open to all.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hashInvitation } from '../../src/store/invitations.ts';
import { createSubscriberToken } from '../../src/service/push/subscriber-token.ts';
import {
  assertProblem,
  newPoint,
  newSubscription,
  sendJson,
  startServiceForSuite,
} from './running-service.ts';
import { pluck } from '../../tools/pluck.ts';

const key = { key: new Uint8Array(32).fill(7), audience: 'deskbell' };
let invited = 0;

const withInvitation = (token: string) => ({ 'deskbell-invitation': token });
const assertNotInvited = async (response: Response, detail: RegExp) =>
  assert.match((await assertProblem(response, 403, 'ERR_NOT_INVITED')).detail, detail);

const formerly = (row: object) => ({ 'deskbell-former-subscription': JSON.stringify(row) });

describe('registrations: invited', () => {
  const offered: unknown[] = [];
  const service = startServiceForSuite({
    registrations: 'invited',
    subscriberTokens: { algorithm: 'HS256', ...key },
    receiptKey: new Uint8Array(32).fill(8),
    onSubscribe: (subscription) => void offered.push(subscription.user),
  });

  const invite = async (user = 'me'): Promise<string> => {
    const token = `token-${(invited += 1)}`;
    await service.store.invitations.add({ tokenHash: hashInvitation(token), user });
    return token;
  };
  const post = (subscription: object, headers: Record<string, string> = {}) =>
    sendJson(service.base, 'POST', '/webPush', subscription, headers);
  const userOf = async ({ endpoint }: { endpoint: string }) =>
    (await service.store.subscriptions.findByEndpoint(endpoint))?.user;
  const count = async () => [
    offered.length,
    await service.store.subscriptions.count(),
    service.records.filter(({ event }) => event === 'subscription').length,
  ];
  /** Of what a request does: hooks called, rows, records. */
  const changes = async (work: () => Promise<unknown>) => {
    const before = await count();
    await work();
    return (await count()).map((after, index) => after - before[index]!);
  };

  test('without an invitation nothing is stored, and neither the application nor the console sees it', async () => {
    const seen = await changes(async () => {
      await assertNotInvited(await post(newSubscription()), /only browsers that its operator has invited/);
      await assertNotInvited(
        await post(newSubscription(), withInvitation('guessed')),
        /has expired or was used/,
      );
    });
    assert.deepEqual(seen, [0, 0, 0]);
  });

  test('an invitation lets one browser in, as its user, and looking at the link does not consume it', async () => {
    const token = await invite();
    for (const path of ['/', '/vapidKey', '/webPush']) {
      await fetch(`${service.base}${path}#invitation=${token}`);
      await fetch(service.base + path, { headers: withInvitation(token) });
    }
    const mine = newSubscription();
    assert.equal((await post(mine, withInvitation(token))).status, 200);
    assert.equal(offered.at(-1), 'me');
    assert.equal(await userOf(mine), 'me');
    await assertNotInvited(await post(newSubscription(), withInvitation(token)), /has expired or was used/);
  });

  test('a request that is refused does not consume it', async () => {
    const token = await invite();
    const known = newSubscription();
    assert.equal((await post(known, withInvitation(await invite('ada')))).status, 200);
    const otherKeys = { ...newSubscription(), endpoint: known.endpoint };
    assert.equal((await post({ ...known, auth: '' }, withInvitation(token))).status, 400);
    assert.equal((await post(otherKeys, withInvitation(token))).status, 409);
    assert.equal((await post(newSubscription(), withInvitation(token))).status, 200);
  });

  test('who is registered may register again, also with an invitation that was used or is none', async () => {
    const token = await invite();
    const first = newSubscription();
    for (const headers of [withInvitation(token), {}, withInvitation(token), withInvitation('over')])
      assert.equal((await post(first, headers)).status, 200);
    // who knows the endpoint of another browser is not let in by that
    const stranger = { ...newSubscription(), endpoint: first.endpoint };
    await assertNotInvited(await post(stranger), /only browsers that its operator/);
    await assertNotInvited(await post(newSubscription(), formerly(stranger)), /only browsers/);
  });

  test('one invitation lets one browser in, whatever takes its place; a renewal whose answer was lost is repeated', async () => {
    const first = newSubscription();
    assert.equal((await post(first, withInvitation(await invite()))).status, 200);
    // worker and page together, which have the same subscription
    const second = newSubscription();
    const together = await Promise.all([post(second, formerly(first)), post(second, formerly(first))]);
    assert.deepEqual(pluck(together, 'status'), [200, 200]);
    assert.equal((await post(second, formerly(first))).status, 200);
    const newKeys = { ...second, p256dh: newPoint().toString('base64') };
    assert.equal((await post(newKeys, formerly(second))).status, 200);
    assert.equal(await userOf(second), 'me');
    assert.equal(await service.store.subscriptions.findByEndpoint(first.endpoint), undefined);
    for (let index = 0; index < 5; index += 1)
      await assertNotInvited(await post(newSubscription(), formerly(first)), /only browsers/);
    // of many at once, one
    const many = await Promise.all(
      Array.from({ length: 10 }, () => post(newSubscription(), formerly(second))),
    );
    assert.deepEqual(many.map(({ status }) => status).toSorted(), [
      200,
      ...Array.from({ length: 9 }, () => 403),
    ]);
  });

  test('a subscriber token is an invitation, and leaves another one unused', async () => {
    const token = await invite();
    const authorization = `Bearer ${await createSubscriberToken({ ...key, user: 'ada' })}`;
    const mine = newSubscription();
    assert.equal((await post(mine, { authorization, ...withInvitation(token) })).status, 200);
    assert.equal(await userOf(mine), 'ada');
    assert.equal((await post(newSubscription(), withInvitation(token))).status, 200);
  });

  test('receipts, signing out and unsubscribing stay open', async () => {
    const mine = newSubscription();
    assert.equal((await post(mine, withInvitation(await invite()))).status, 200);
    const send = async (method: string, path: string, body: object) =>
      (await sendJson(service.base, method, path, body)).status;
    assert.equal(await send('POST', '/webPush/receipts', { receipts: [] }), 204);
    assert.equal(await send('DELETE', '/webPush/user', mine), 204);
    assert.equal(await userOf(mine), undefined);
    assert.equal(await send('DELETE', '/webPush', mine), 204);
    assert.equal(await service.store.subscriptions.findByEndpoint(mine.endpoint), undefined);
  });
});

describe('registrations: open', () => {
  const service = startServiceForSuite();

  test('an invitation says whose a subscription is; one that is over is refused', async () => {
    const tokenHash = hashInvitation('open');
    await service.store.invitations.add({ tokenHash, user: 'me' });
    const mine = newSubscription();
    const headers = { 'deskbell-invitation': 'open' };
    assert.equal((await sendJson(service.base, 'POST', '/webPush', mine, headers)).status, 200);
    assert.equal((await service.store.subscriptions.findByEndpoint(mine.endpoint))?.user, 'me');
    assert.equal((await sendJson(service.base, 'POST', '/webPush', newSubscription(), headers)).status, 403);
    assert.equal((await sendJson(service.base, 'POST', '/webPush', newSubscription())).status, 200);
  });
});
