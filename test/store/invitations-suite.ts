// Invitations, whatever database is behind the store: each is consumed once, by the registration that is stored with it.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { hashInvitation, invitationLifetimeMs } from '../../src/store/invitations.ts';
import type { Store } from '../../src/store/store.ts';
import type { Registration } from '../../src/store/subscriptions.ts';
import { madeUpSubscription, vapidPublicKey } from './made-up-subscription.ts';
import { openForSuite, removeSubscriptions } from './store-under-test.ts';
import { databaseName, openAgain } from './test-database.ts';
import { pluck } from '../../tools/pluck.ts';
import { refusalsOf } from '../../tools/refuses.ts';

const notInvited = { code: 'ERR_NOT_INVITED' };
const endpointOf = (index: number) => madeUpSubscription(index).endpoint;

describe(`invitations: ${databaseName()}`, () => {
  let nowMs = 1_800_000_000_000;
  /** As of another process. */
  let other: Store;
  after(() => other.close());
  const store = openForSuite(() => nowMs, { maxSubscriptions: 3, onWarning: () => {} });
  let tokenHash: Uint8Array;
  let made = 0;
  before(async () => (other = await openAgain(store, () => nowMs)));
  beforeEach(async () => {
    await removeSubscriptions(store);
    tokenHash = hashInvitation(`token ${(made += 1)}`);
    assert.equal(await store.invitations.add({ tokenHash, user: 'me' }), nowMs + invitationLifetimeMs);
  });

  const { endpoint, auth } = madeUpSubscription(1);
  /** What the browser of the first subscription sends with a new one. */
  const renewal = {
    invitation: undefined,
    assign: undefined,
    former: { endpoint, auth },
    replacesFormer: true,
  };
  const register = (index: number, changes: Partial<Registration> = {}, at = store) =>
    at.subscriptions.register({
      subscription: madeUpSubscription(index),
      vapidPublicKey,
      invitation: tokenHash,
      assign: { user: 'me' },
      ...changes,
    });

  test('an invitation is consumed by the registration that it comes with, and by no other', async () => {
    await register(1, { invitation: undefined, assign: undefined });
    assert.equal(await store.invitations.findUser(tokenHash, endpoint), 'me');
    await assert.rejects(register(1, { invitation: hashInvitation('guessed') }), notInvited);
    const stored = await register(1);
    assert.deepEqual([stored.user, stored.tags], ['me', []]);
    assert.equal(await store.invitations.findUser(tokenHash, endpointOf(2)), undefined);
    await assert.rejects(register(2), notInvited);
    // the answer may have been lost
    assert.equal(await store.invitations.findUser(tokenHash, endpoint.replace('https', 'HTTPS')), 'me');
    assert.equal((await register(1)).id, stored.id);
    assert.equal(await store.subscriptions.findByEndpoint(endpointOf(2)), undefined);
  });

  test('of registrations at once, in two processes, one is stored', async () => {
    const results = await Promise.allSettled([
      register(1),
      register(2, {}, other),
      register(3),
      register(4, {}, other),
    ]);
    assert.deepEqual(refusalsOf(results), [notInvited.code, notInvited.code, notInvited.code]);
    assert.equal((await store.subscriptions.page({ afterId: 0, limit: 10 })).length, 1);
  });

  test('a registration that fails leaves it as it was', async () => {
    await register(1, { invitation: undefined });
    const stolen = { ...madeUpSubscription(5), endpoint };
    await assert.rejects(register(1, { subscription: stolen }), { code: 'ERR_ENDPOINT_IN_USE' });
    assert.equal(await store.invitations.findUser(tokenHash, endpointOf(2)), 'me');
    await register(2, { invitation: undefined });
    await register(3, { invitation: undefined });
    await assert.rejects(register(4), { code: 'ERR_SUBSCRIPTION_LIMIT' });
    // the same browser at a new endpoint takes the place of its row
    const subscription = { ...madeUpSubscription(1), endpoint: endpointOf(9) };
    await register(1, { invitation: undefined, subscription });
    assert.equal(await store.invitations.findUser(tokenHash, endpointOf(2)), 'me');
  });

  test('a former subscription lets one other in, which takes its place; the same one again is the same call', async () => {
    // by a process without a limit; the other one has reached its own
    await register(1, {}, other);
    const renew = (index: number, at = store) => register(index, renewal, at);
    const results = await Promise.allSettled([renew(2), renew(3, other), renew(4), renew(5, other)]);
    const stored = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    assert.deepEqual(refusalsOf(results), [notInvited.code, notInvited.code, notInvited.code]);
    assert.equal(stored[0]!.user, 'me');
    const page = await store.subscriptions.page({ afterId: 0, limit: 10 });
    assert.deepEqual(pluck(page, 'id'), [stored[0]!.id]);
    const index = 2 + results.findIndex(({ status }) => status === 'fulfilled');
    assert.equal((await renew(index)).id, stored[0]!.id);
    await assert.rejects(renew(index === 2 ? 3 : 2), notInvited);
    // a proof that is not its own deletes nothing
    const wrong = { endpoint: endpointOf(index), auth };
    await assert.rejects(register(1, { ...renewal, former: wrong }), notInvited);
    assert.equal((await store.subscriptions.page({ afterId: 0, limit: 10 })).length, 1);
  });

  test('a renewal takes the invitation with it: the former one is let in no more', async () => {
    await register(1, {}, other);
    await register(2, renewal, other);
    await assert.rejects(register(1, {}, other), notInvited);
    assert.equal((await register(2, {}, other)).user, 'me', 'the answer may have been lost');
    assert.equal((await store.subscriptions.page({ afterId: 0, limit: 10 })).length, 1);
  });

  test('so does one where everybody is let in: the former one is nobody’s, and stays so', async () => {
    await register(1, {}, other);
    const moved = await register(2, { ...renewal, replacesFormer: false }, other);
    assert.equal(moved.user, 'me');
    await assert.rejects(register(1, {}, other), notInvited);
    assert.equal((await store.subscriptions.findByEndpoint(endpoint))?.user, undefined);
  });

  test('after a backup was restored, renewal and invitation are taken again, for the same browser only', async () => {
    await register(1, {}, other);
    const restore = async () => {
      await removeSubscriptions(store);
      await other.subscriptions.put(madeUpSubscription(1), vapidPublicKey, { assign: { user: 'me' } });
    };
    await restore();
    assert.equal((await register(1, {}, other)).user, 'me', 'the invitation again');
    await register(2, renewal, other);
    await restore();
    assert.equal((await register(2, renewal, other)).user, 'me', 'the renewal again');
    await assert.rejects(register(3, renewal, other), notInvited);
    await assert.rejects(register(3, {}, other), notInvited);
    assert.equal((await store.subscriptions.page({ afterId: 0, limit: 10 })).length, 1);
  });

  test('it expires, and is forgotten then', async () => {
    nowMs += invitationLifetimeMs - 1;
    await store.retention.prune({});
    assert.equal(await store.invitations.findUser(tokenHash, endpoint), 'me');
    nowMs += 1;
    assert.equal(await store.invitations.findUser(tokenHash, endpoint), undefined);
    await assert.rejects(register(1), notInvited);
    await store.retention.prune({});
    nowMs -= 1;
    assert.equal(await store.invitations.findUser(tokenHash, endpoint), undefined);
  });
});
