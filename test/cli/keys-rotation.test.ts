// `deskbell keys rotate`, `list` and `retire` beside processes that run: two services and a worker on one data directory
// switch to the new pair without a restart, and no subscription is lost.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { startPushService } from '../../src/push-service/index.ts';
import {
  runCommand,
  runUntilStopped,
  spawnUntilStopped,
  temporaryFolder,
  type RunResult,
  serve,
  environmentFor,
  parseLines,
} from './run-command.ts';

const message = ['--title', 'Ding dong', '--message', 'Tea is ready'];

interface ListedKey {
  readonly publicKey: string;
  readonly state: string;
  readonly subscriptions: number;
  readonly hasKeyFile: boolean;
}

const offeredBy = async (service: string): Promise<string> =>
  (await (await fetch(`${service}/vapidKey`)).json()) as string;

test('deskbell keys beside two services and a worker', async (t) => {
  const pushService = await startPushService();
  t.after(() => pushService.close());
  const data = await temporaryFolder();
  const environment = environmentFor(data, pushService);

  const run = (...words: string[]): Promise<RunResult> => runCommand(words, { environment });
  const listed = async (): Promise<readonly ListedKey[]> =>
    parseLines((await run('keys', 'list', '--json')).stdout);
  const rotate = async (): Promise<string> => {
    const { exitCode, stdout, stderr } = await run('keys', 'rotate', '--json');
    assert.equal(exitCode, 0, stderr);
    return (JSON.parse(stdout) as { publicKey: string }).publicKey;
  };
  /** Registers a subscription that the push service takes messages for from this key only. */
  const register = (service: string, vapidPublicKey: string): Promise<Response> => {
    const [subscription] = pushService.createSinks(1, { vapidPublicKey });
    return fetch(`${service}/webPush`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'deskbell-vapid-key': vapidPublicKey },
      body: JSON.stringify(subscription),
    });
  };

  const keyFiles = async (): Promise<readonly string[]> =>
    (await readdir(data)).filter((name) => name.startsWith('vapid-keys'));
  const pairOf = async (wanted: string): Promise<{ readonly privateKey: string }> => {
    for (const name of await keyFiles()) {
      const pair = JSON.parse(await readFile(join(data, name), 'utf8')) as Record<string, string>;
      if (pair['publicKey'] === wanted) return { privateKey: pair['privateKey']! };
    }
    throw new Error(`no key file has ${wanted}`);
  };

  const generated = await run('keys', 'generate', '--json');
  const { publicKey: first } = JSON.parse(generated.stdout) as { publicKey: string };
  const other = spawnUntilStopped(['serve', '--port', '0'], { environment });
  const [, address = ''] = await other.waitFor(/^Deskbell listens on (http:\S+) /);
  const services = [(await serve([], { environment })).address, address];
  const worker = runUntilStopped(['worker', '--json'], { environment });
  await worker.waitFor(/"ready"/);

  await t.test('rotate, send, visit, send and retire lose nobody, and nothing is restarted', async () => {
    for (const service of services) assert.equal((await register(service, first)).status, 200);

    const second = await rotate();
    for (const service of services) {
      assert.equal(await offeredBy(service), second, 'all services offer the new key at once');
    }
    assert.deepEqual(await listed(), [
      { publicKey: first, state: 'previous', subscriptions: 2, hasKeyFile: true },
      { publicKey: second, state: 'current', subscriptions: 0, hasKeyFile: true },
    ]);
    assert.equal((await register(services[0]!, second)).status, 200);
    assert.equal((await register(services[1]!, first)).status, 200, 'a page that had the former key already');

    assert.equal((await run('send', '--all', '--detach', ...message)).exitCode, 0);
    const [, accepted] = await worker.waitFor(/"event":"summary".*"accepted":(\d+)/);
    assert.equal(accepted, '4', 'the worker has both pairs');
    for (const id of ['1', '3']) {
      const sent = await run('send', '--id', id, ...message);
      assert.equal(sent.exitCode, 0, sent.stderr);
    }

    const refused = await run('keys', 'retire', first);
    assert.equal(refused.exitCode, 1);
    assert.match(refused.stderr, /3 subscriptions were made with the key .*ERR_KEY_IN_USE/);
    for (const id of ['1', '2', '4']) assert.equal((await run('subscriptions', 'remove', id)).exitCode, 0);
    const { privateKey } = await pairOf(first);
    const retired = await run('keys', 'retire', first.slice(0, 8));
    assert.equal(retired.exitCode, 0, retired.stderr);
    assert.equal(retired.stdout, `Retired ${first}.\n`);
    for (const name of await keyFiles()) {
      assert.ok(!(await readFile(join(data, name), 'utf8')).includes(privateKey));
    }

    const late = await register(services[0]!, first);
    assert.equal(late.status, 409);
    assert.equal(((await late.json()) as { vapidPublicKey: string }).vapidPublicKey, second);
    assert.equal((await run('send', '--all', ...message)).exitCode, 0);
    assert.deepEqual(await listed(), [
      { publicKey: second, state: 'current', subscriptions: 1, hasKeyFile: true },
    ]);
    assert.equal((await run('keys', 'show')).stdout, `Public key:  ${second}\n`);
  });

  await t.test('retire --force gives subscriptions up, and says how many', async () => {
    const former = (await listed()).find(({ state }) => state === 'current')!;
    await rotate();
    const { exitCode, stdout } = await run('keys', 'retire', former.publicKey, '--force');
    assert.equal(exitCode, 0);
    assert.match(stdout, /^Retired B\S+\. 1 subscription cannot be sent to\.\n$/);
    assert.match((await run('send', '--all', ...message)).stdout, /1 rejected/);
    assert.match((await run('keys', 'list')).stdout, /^retired +1 +B/m);
  });

  await t.test(
    'retire refuses the current pair, an unknown one, and what does not name a single one',
    async () => {
      const { publicKey: current } = (await listed()).find(({ state }) => state === 'current')!;
      const { store, close } = await openDataDirectory(data);
      const namesake = current.slice(0, 12).padEnd(current.length, 'x');
      await store.vapidKeys.prepare(namesake);
      await store.vapidKeys.retire(namesake, { force: true });
      await close();
      for (const [words, expected] of [
        [[current, '--force'], /ERR_KEY_IN_USE/],
        [[`B${'x'.repeat(20)}`], /No key pair has a public key that begins with.*ERR_KEY_NOT_FOUND/],
        [[current.slice(0, 12)], /2 key pairs have a public key that begins with.*ERR_KEY_NOT_FOUND/],
        [['B'], /too short.*first 8 characters.*ERR_KEY_NOT_FOUND/],
      ] as const) {
        const { exitCode, stderr } = await run('keys', 'retire', ...words);
        assert.equal(exitCode, 1);
        assert.match(stderr, expected);
      }
    },
  );

  await t.test(
    'generate --force takes the place of every pair, and running services offer the new one',
    async () => {
      await rotate();
      const { stdout } = await run('keys', 'generate', '--force', '--json');
      const { publicKey } = JSON.parse(stdout) as { publicKey: string };
      for (const service of services) assert.equal(await offeredBy(service), publicKey);
      assert.deepEqual(await keyFiles(), ['vapid-keys.json']);
    },
  );
});
