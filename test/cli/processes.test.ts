// Each command once with an output that nobody reads to the end, as in `deskbell keys show | head -0`: it ends by itself and
// reports no error. What it says is tested in the files of the commands.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { type PushService, startPushService } from '../../src/push-service/index.ts';
import { until } from '../../tools/until.ts';
import { addSubscriptions } from '../store/store-under-test.ts';
import {
  dataWithSinks,
  mainFile,
  outputOf,
  runCommand,
  runUnread,
  spawnUntilStopped,
  startCommand,
  temporaryFolder,
} from './run-command.ts';

/** They run until they are told to stop; their own files end them by signals. */
const endless = ['demo', 'push-service', 'serve', 'worker'];

const commands: Readonly<Record<string, readonly string[]>> = {
  alarms: ['alarms', 'list'],
  audit: ['audit'],
  backup: ['backup', 'FOLDER/backup'],
  bells: ['bells', 'list'],
  broadcasts: ['broadcasts', 'list'],
  channels: ['channels', 'list'],
  completion: ['completion', 'bash'],
  doctor: ['doctor', '--help'],
  healthcheck: ['healthcheck', '--help'],
  'held-deletions': ['held-deletions', 'list'],
  help: ['help'],
  invite: ['invite', 'me'],
  keys: ['keys', 'show'],
  operators: ['operators', 'list'],
  people: ['people', 'show', 'ada'],
  restore: ['restore', 'FOLDER/copy', '--data', 'FOLDER/restored'],
  schedules: ['schedules', 'list'],
  send: ['send', '--all', '--title', 'Hello', '--message', 'there'],
  sending: ['sending', '--help'],
  session: ['session', 'ada'],
  store: ['store', '--help'],
  subscriptions: ['subscriptions', 'list'],
  token: ['token', '--user', 'ada', '--subscriber-tokens', 'HS256'],
  version: ['version'],
  'web-push': ['web-push', 'generate-vapid-keys'],
  'webhook-secret': ['webhook-secret'],
};

const binFolder = await temporaryFolder();
const environment = { DESKBELL_DATA: join(binFolder, 'data'), DESKBELL_SUBJECT: 'mailto:push@example.org' };
for (const words of [
  ['keys', 'generate'],
  ['operators', 'add', 'ann'],
  ['backup', '--with-keys', join(binFolder, 'copy')],
])
  await outputOf(runCommand(words, { environment }));

suite('a command whose output nobody reads', { concurrency: 4 }, () => {
  test('is tried for each command', async () => {
    const { stdout } = await runCommand('--help');
    const listed = stdout.split('\nCommands:\n')[1]!.matchAll(/^ {2}([a-z-]+) /gm);
    const names = Array.from(listed, ([, name]) => name!);
    assert.deepEqual(names.toSorted(), [...endless, ...Object.keys(commands)].toSorted());
  });

  test('export ends with exit code 0 in the middle of its pages', async () => {
    const { store, vapidKeys, close } = await openDataDirectory(join(binFolder, 'full'));
    await addSubscriptions(store, 3000, 0, () => ({ vapidPublicKey: vapidKeys.publicKey }));
    await close();
    const child = startCommand(['subscriptions', 'export', '--data', join(binFolder, 'full')]);
    child.stdout.once('data', () => child.stdout.destroy());
    const [complaints, [exitCode]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    assert.deepEqual([complaints, exitCode], ['', 0]);
  });

  suite('has its work done all the same', () => {
    let pushService: PushService;
    before(async () => (pushService = await startPushService()));
    after(() => pushService.close());

    /** A data directory with one subscription, and its only broadcast: its state, and how many the push service accepted. */
    async function setUp() {
      const { environment: own } = await dataWithSinks(pushService, 1);
      const stateOf = async (): Promise<string> => {
        const { stdout } = await runCommand('broadcasts show 1 --json', { environment: own });
        const { state, counts } = JSON.parse(stdout) as { state: string; counts: { accepted: number } };
        return `${state} ${counts.accepted}`;
      };
      return { own, stateOf };
    }

    for (const json of [[], ['--json']]) {
      test(`a broadcast goes on to its end when nobody reads ${['what it prints', ...json].join(' ')}`, async () => {
        const { own, stateOf } = await setUp();
        const { exitCode, stderr } = await runUnread(['send', '--all', 'Tea', ...json], { environment: own });
        assert.deepEqual([stderr, exitCode, await stateOf()], ['', 0, 'done 1']);
      });
    }

    test('a broadcast goes on to its end when its output is on a full disk, and the command fails then', async () => {
      const { own, stateOf } = await setUp();
      const full = openSync('/dev/full', 'w');
      const words = ['send', '--all', 'Tea'];
      const child = spawn(process.execPath, [mainFile, ...words], {
        env: { ...process.env, ...own },
        stdio: ['ignore', full, 'pipe'],
      });
      closeSync(full);
      const [complaints, [exitCode]] = await Promise.all([text(child.stderr!), once(child, 'exit')]);
      assert.match(
        complaints,
        /^deskbell: Standard output cannot be written: the disk is full\. .* \[ERR_OUTPUT\]\n$/,
      );
      assert.deepEqual([exitCode, await stateOf()], [1, 'done 1']);
    });

    for (const words of [['worker'], ['serve', '--deliver', '--port', '0']]) {
      test(`${words[0]} goes on delivering until it is told to stop`, async () => {
        const { own, stateOf } = await setUp();
        const { child, end } = spawnUntilStopped(words, { environment: own });
        child.stdout!.destroy();
        await runCommand('send --all Tea --detach', { environment: own });
        await until(async () => {
          assert.equal(child.exitCode, null, 'it has ended');
          return (await stateOf()) === 'done 1';
        }, 'the end of the broadcast');
        assert.equal(await end(), 0);
      });
    }
  });

  for (const [name, words] of Object.entries(commands)) {
    test(`${name} ends with exit code 0`, async () => {
      const { exitCode, stderr } = await runUnread(
        words.map((word) => word.replace('FOLDER', binFolder)),
        { environment },
      );
      assert.doesNotMatch(stderr, /ERR_|EPIPE|\n {4}at /);
      assert.equal(exitCode, 0);
    });
  }
});

// Where the command keeps what Node has compiled of it: who can write there can have it run code of theirs.

/** Runs the command with this home. @returns what is compiled code for the next run, and what is left of temporary files */
async function runIn(home: string) {
  const temporary = await temporaryFolder();
  const env = { HOME: home, TMPDIR: temporary };
  await promisify(execFile)(process.execPath, [mainFile, '--version'], { env });
  const folder = folderIn(home);
  return { compiled: existsSync(folder) ? readdirSync(folder) : [], temporary: readdirSync(temporary) };
}

const folderIn = (home: string): string => join(home, '.cache/deskbell/compiled');

suite('what is compiled of the command', () => {
  test('is kept in the home directory, for its user alone, and not among temporary files', async () => {
    const home = await temporaryFolder();
    const { compiled, temporary } = await runIn(home);
    assert.notDeepEqual(compiled, []);
    assert.deepEqual(temporary, []);
    assert.equal(statSync(folderIn(home)).mode & 0o777, 0o700);
  });

  for (const [what, path, mode] of [
    ['the home is one that others can write to', '.', 0o777],
    ['others can write to a folder above it', '.cache', 0o777],
    ['others can write to the folder', '.cache/deskbell/compiled', 0o770],
  ] as const) {
    test(`is not kept where ${what}`, async () => {
      const home = await temporaryFolder();
      mkdirSync(folderIn(home), { recursive: true });
      chmodSync(join(home, path), mode);
      assert.deepEqual(await runIn(home), { compiled: [], temporary: [] });
    });
  }

  test('is not looked for where there is no home', async () => {
    assert.deepEqual(await runIn('/nonexistent'), { compiled: [], temporary: [] });
  });
});
