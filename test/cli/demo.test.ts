// `deskbell demo`: the whole way of a notification in one command.
import assert from 'node:assert/strict';
import { exec } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import { runCommand, runUntilStopped, temporaryFolder } from './run-command.ts';

/** What is left there is the demo's own. */
const emptyTemporaryFolder = async () => ({ TMPDIR: await temporaryFolder() });

/** With the address and the token that it prints. */
async function askOperator(demo: ReturnType<typeof runUntilStopped>): Promise<void> {
  const [, address = ''] = await demo.waitFor(/^The operator's console is at (http:\S+)\/, its API at /);
  const [, token = ''] = await demo.waitFor(/^ {2}(deskbell_op_\S+)$/);
  const keys = await fetch(`${address}/v1/keys`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(keys.status, 200);
}

suite('deskbell demo', () => {
  test('--once prints each step with its time, then the notification as decrypted, and leaves nothing', async () => {
    const environment = await emptyTemporaryFolder();
    const { exitCode, stdout, stderr } = await runCommand(['demo', '--once'], { environment });
    assert.equal(exitCode, 0, stderr);
    assert.equal(stderr, '');
    const lines = stdout.trimEnd().split('\n');
    const last = lines.pop() ?? '';
    const notification = JSON.parse(last.replace(/^notification /, '')) as Record<string, string>;
    assert.deepEqual(Object.keys(notification), ['title', 'message']);
    for (const line of lines)
      assert.match(line, /^ *\d+ ms {2}(push service|service|user agent|store|sender) /);
    assert.match(stdout, /answers 201: accepted/);
    assert.doesNotMatch(stdout, /undefined|null/);
    assert.deepEqual(await readdir(environment.TMPDIR), []);
  });

  test('without --once it goes on, and the commands that it prints and that its page shows send the next ones', async () => {
    const environment = await emptyTemporaryFolder();
    const demo = runUntilStopped(['demo', '--port', '0'], { environment });
    const [, address = ''] = await demo.waitFor(/The demo page is at (http:\S+)$/);
    const page = await fetch(address);
    assert.equal(page.status, 200);
    const html = await page.text();
    assert.match(html, /<title>Deskbell<\/title>/);

    await askOperator(demo);

    const [, command = ''] = await demo.waitFor(/^ {2}(.+ send --config .+)$/);
    const elsewhere = { cwd: environment.TMPDIR, env: { ...process.env, ...environment } };
    const { stdout } = await promisify(exec)(command, elsewhere);
    assert.match(stdout, /^ +1 accepted /m);
    await demo.waitFor(/ms {2}sender +Broadcast 1 to 1 subscription is done: 1 accepted\.$/);
    await demo.waitFor(/^notification {"title":"Hello","message":"From another terminal"}$/);

    const [, shownCommand = ''] = /<code id="command">(.+)<\/code>/.exec(html)!;
    await promisify(exec)(shownCommand.replaceAll('&#39;', "'"), elsewhere);
    await demo.waitFor(/^notification {"title":"Ding dong","message":"Tea is ready"}$/);

    assert.equal(await demo.end('SIGINT'), 0);
    assert.deepEqual(await readdir(environment.TMPDIR), []);
  });

  test('a port that is asked for and taken is a fault; the usual one being taken is not', async () => {
    const environment = await emptyTemporaryFolder();
    const first = runUntilStopped(['demo', '--port', '0'], { environment });
    const [, port = ''] = await first.waitFor(/The demo page is at http:\S+:(\d+)\/$/);
    const second = await runCommand(['demo', '--once', '--port', port], { environment });
    assert.equal(second.exitCode, 1);
    assert.match(second.stderr, /^deskbell: .* \[ERR_LISTEN\]\n$/);
    const [one, other] = [
      runUntilStopped(['demo'], { environment }),
      runUntilStopped(['demo'], { environment }),
    ];
    for (const demo of [one, other]) {
      await demo.waitFor(/The demo page is at/);
      await askOperator(demo);
    }
    await Promise.all([first, one, other].map((demo) => demo.end('SIGTERM')));
    assert.deepEqual(await readdir(environment.TMPDIR), []);
  });
});
