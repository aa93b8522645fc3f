// `deskbell held-deletions`: an operator decides about subscriptions that a push service called gone.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { madeUpSubscription } from '../store/made-up-subscription.ts';
import { recordAnswer } from '../store/store-under-test.ts';
import { runCommand, temporaryFolder } from './run-command.ts';

const origin = 'https://fcm.googleapis.com';
const rows = 100;

/** A data directory whose push service called everything gone, one message at a time. */
async function heldData(): Promise<{ readonly data: string; readonly held: number }> {
  const data = await temporaryFolder();
  const { store, vapidKeys, close } = await openDataDirectory(data);
  for (let index = 0; index < rows; index += 1) {
    const subscription = madeUpSubscription(index);
    await store.subscriptions.put(subscription, vapidKeys.publicKey);
    await recordAnswer(store, subscription, 'gone', origin);
  }
  for (let index = 0; index < 200; index += 1) {
    await recordAnswer(store, madeUpSubscription(9999), 'other', origin);
  }
  const held = await store.subscriptions.count();
  await close();
  return { data, held };
}

async function countRows(data: string): Promise<number> {
  const { stdout } = await runCommand(['subscriptions', 'export', '--data', data]);
  return stdout.split('\n').length - 1;
}

suite('deskbell held-deletions', { concurrency: true }, () => {
  test('list names the push service, how many, and since when', async () => {
    const { data, held } = await heldData();
    const { stdout, exitCode } = await runCommand(['held-deletions', 'list', '--data', data]);
    assert.equal(exitCode, 0);
    assert.match(stdout, new RegExp(`^https://fcm\\.googleapis\\.com  ${held} since \\d{4}-.*Z\n$`));
    const json = await runCommand(['held-deletions', 'list', '--data', data, '--json']);
    const { since, ...others } = JSON.parse(json.stdout) as { since: string };
    assert.deepEqual(others, { origin, subscriptions: held });
    assert.ok(Math.abs(Date.parse(since) - Date.now()) < 3_600_000);
  });

  test('confirm deletes what is held', async () => {
    const { data, held } = await heldData();
    const { stdout } = await runCommand(['held-deletions', 'confirm', origin, '--data', data]);
    assert.equal(stdout, `Deleted ${held} subscriptions of ${origin}\n`);
    assert.equal(await countRows(data), 0);
    const after = await runCommand(['held-deletions', 'list', '--data', data]);
    assert.equal(after.stdout, '');
    assert.match(after.stderr, /No deletions are held/);
  });

  test('discard keeps what is held', async () => {
    const { data, held } = await heldData();
    const { stdout } = await runCommand(['held-deletions', 'discard', origin, '--json', '--data', data]);
    assert.deepEqual(JSON.parse(stdout), { origin, subscriptions: held });
    assert.equal(await countRows(data), held);
  });

  test('a push service that nothing is held for, or that is none, is an error', async () => {
    const { data } = await heldData();
    const other = await runCommand(['held-deletions', 'confirm', 'https://push.example', '--data', data]);
    assert.match(other.stderr, /No deletions are held for .*\. See `deskbell held-deletions list`\. \[/);
    assert.notEqual(other.exitCode, 0);
    assert.match(other.stderr, /No deletions are held for https:\/\/push\.example/);
    const none = await runCommand(['held-deletions', 'confirm', 'everything', '--data', data]);
    assert.match(none.stderr, /must be the origin of a push service/);
    const { stdout } = await runCommand(['audit', '--json', '--data', data]);
    const { action, target, status } = JSON.parse(stdout);
    const refused = ['held-deletions.confirm', 'push service https://push.example', 404];
    assert.deepEqual([action, target, status], refused);
  });
});
