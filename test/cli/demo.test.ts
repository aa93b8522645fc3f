// `deskbell demo`: the whole way of a notification in one command.
import assert from 'node:assert/strict';
import { exec } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { suite, test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { runCommand, runUntilStopped, temporaryFolder } from './run-command.ts';

/** What is left there is the demo's own. */
async function useEmptyTemporaryFolder(t: TestContext): Promise<string> {
  const folder = await temporaryFolder();
  const { TMPDIR } = process.env;
  t.after(() => (process.env['TMPDIR'] = TMPDIR));
  return (process.env['TMPDIR'] = folder);
}

/** With the address and the token that it prints. */
async function askOperator(demo: ReturnType<typeof runUntilStopped>): Promise<void> {
  const [, address = ''] = await demo.waitFor(/^The operator's console is at (http:\S+)\/, its API at /);
  const [, token = ''] = await demo.waitFor(/^ {2}(deskbell_op_\S+)$/);
  const keys = await fetch(`${address}/v1/keys`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(keys.status, 200);
}

suite('deskbell demo', () => {
  test('--once prints each step with its time, then the notification as decrypted, and leaves nothing', async (t) => {
    const folder = await useEmptyTemporaryFolder(t);
    const { exitCode, stdout, stderr } = await runCommand(['demo', '--once']);
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
    assert.deepEqual(await readdir(folder), []);
  });

  test('without --once it goes on, and the commands that it prints and that its page shows send the next ones', async (t) => {
    const folder = await useEmptyTemporaryFolder(t);
    const demo = runUntilStopped(['demo', '--port', '0']);
    const [, address = ''] = await demo.waitFor(/The demo page is at (http:\S+)$/);
    const page = await fetch(address);
    assert.equal(page.status, 200);
    const html = await page.text();
    assert.match(html, /<title>Deskbell<\/title>/);

    await askOperator(demo);

    const [, command = ''] = await demo.waitFor(/^ {2}(.+ send --config .+)$/);
    const { stdout } = await promisify(exec)(command, { cwd: folder });
    assert.match(stdout, /^ +1 accepted /m);
    await demo.waitFor(/ms {2}sender +Broadcast 1 to 1 subscription is done: 1 accepted\.$/);
    await demo.waitFor(/^notification {"title":"Hello","message":"From another terminal"}$/);

    const [, shownCommand = ''] = /<code id="command">(.+)<\/code>/.exec(html)!;
    const [start, words = ''] = shownCommand.split(/(?<=main\.cts) /);
    assert.ok(command.startsWith(`${start} `));
    await runCommand(Array.from(words.matchAll(/"(.+?)"|\S+/g), ([word, quoted]) => quoted ?? word));
    await demo.waitFor(/^notification {"title":"Ding dong","message":"Tea is ready"}$/);

    assert.equal(await demo.end('SIGINT'), 0);
    assert.deepEqual(await readdir(folder), []);
  });

  test('a port that is asked for and taken is a fault; the usual one being taken is not', async (t) => {
    const folder = await useEmptyTemporaryFolder(t);
    const first = runUntilStopped(['demo', '--port', '0']);
    const [, port = ''] = await first.waitFor(/The demo page is at http:\S+:(\d+)\/$/);
    const second = await runCommand(['demo', '--once', '--port', port]);
    assert.equal(second.exitCode, 1);
    assert.match(second.stderr, /^deskbell: .* \[ERR_LISTEN\]\n$/);
    const [one, other] = [runUntilStopped(['demo']), runUntilStopped(['demo'])];
    for (const demo of [one, other]) {
      await demo.waitFor(/The demo page is at/);
      await askOperator(demo);
    }
    await Promise.all([first, one, other].map((demo) => demo.end('SIGTERM')));
    assert.deepEqual(await readdir(folder), []);
  });
});
