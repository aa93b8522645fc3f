// What docs/personal.md shows works as it stands there: the three commands, Caddy in front with and without a password, cron, systemd.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { caddy, curl, skipWithout, systemd } from '../../scripts/install-test-tools.ts';
import { createUserAgent, startPushService } from '../../src/push-service/index.ts';
import { startCaddy } from '../../tools/caddy.ts';
import { until } from '../../tools/until.ts';
import { exampleSubscription, type ExampleSubscription } from '../cli/example-subscriptions.ts';
import { parseLines, runCommand, serve, temporaryFolder } from '../cli/run-command.ts';
import { prepareProxy } from '../proxied-hosts.ts';
import { blocksOf } from './pages.ts';

const host = 'bell.example.org';
const blocks = (language: string) => blocksOf('docs/personal.md', language);
const [plain = '', withPassword = ''] = blocks('caddy');
const commands = blocks('sh').flatMap((code) => code.trim().split('\n'));
const execute = promisify(execFile);

/** The words of the commands that begin like this, in the order of the page. */
const wordsOf = (command: string): readonly (readonly string[])[] =>
  commands
    .map((line) => line.replace(/^address=\$\((deskbell [^)]+)\).*/, '$1'))
    .filter((line) => line.startsWith(`deskbell ${command} `))
    .map((line) =>
      Array.from(line.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, bare]) => quoted ?? bare!).slice(1),
    );

const serveFlags = wordsOf('serve')[0]!
  .slice(1)
  .map((word) => word.replace('127.0.0.1:8081', '127.0.0.1:0'));

for (const { name, example, pageStatus, ringsBells } of [
  { name: 'Caddy', example: plain, pageStatus: 200, ringsBells: false },
  { name: 'Caddy with a password', example: withPassword, pageStatus: 401, ringsBells: true },
]) {
  const skip = skipWithout(`${name} of docs/personal.md`, [caddy]);
  test(`behind ${name} an invited browser registers and renews without a password`, { skip }, async () => {
    const folder = await temporaryFolder();
    const environment = { DESKBELL_DATA: join(folder, 'data') };
    const service = await serve(serveFlags, { environment });
    const [, operator = ''] = await service.waitFor(/operator’s listener is at (\S+)/);
    const { stdout: link } = await runCommand(wordsOf('invite')[0]!, { environment });
    const [, token = ''] =
      new RegExp(`^https://${RegExp.escape(host)}/#invitation=(\\S+)\n$`).exec(link) ?? [];

    const { port, ...proxied } = await prepareProxy(folder, [host]);
    const ask = proxied.ask.bind(undefined, host);
    const status = proxied.status.bind(undefined, host);
    const replaced = {
      '127.0.0.1:8080': new URL(service.address).host,
      '127.0.0.1:8081': new URL(operator).host,
    };
    const proxy = await startCaddy(folder, { example, port, replaced });
    after(() => proxy.stop());
    await until(() => status('/vapidKey').catch(() => undefined), 'the proxy to answer');

    assert.equal(await status('/'), pageStatus);
    for (const path of [
      '/vapidKey',
      '/service-worker.js',
      '/client/index.js',
      '/manifest.webmanifest',
      '/readyz',
    ])
      assert.equal(await status(path), 200, path);
    assert.equal(/no bell with this secret/.test(await text(await ask('/ring', {}, 'Done'))), ringsBells);
    const register = (subscription: ExampleSubscription, headers = {}) =>
      ask('/webPush', headers, JSON.stringify(subscription));
    const mine = exampleSubscription('mine');
    assert.equal((await register(mine, { 'deskbell-invitation': token })).statusCode, 200);
    assert.match(await text(await register(exampleSubscription('other'))), /ERR_NOT_INVITED/);
    const former = JSON.stringify({ endpoint: mine.endpoint, auth: mine.keys.auth });
    const renewed = await register(exampleSubscription('renewed'), {
      'deskbell-former-subscription': former,
    });
    assert.equal(renewed.statusCode, 200);
    const { stdout: listed } = await runCommand(['subscriptions', 'list', '--json', '--user', 'me'], {
      environment,
    });
    assert.equal(parseLines(listed).length, 1);
  });
}

test(
  'the three commands, and the lines for cron and systemd, reach the browser that was invited',
  { skip: skipWithout('the lines of docs/personal.md', [curl]) },
  async () => {
    await using pushService = await startPushService();
    await using userAgent = await createUserAgent({ webSocketUrl: pushService.webSocketUrl });
    const folder = await temporaryFolder();
    const environment = {
      DESKBELL_DATA: join(folder, 'data'),
      DESKBELL_PUSH_SERVICES: pushService.origin,
      DESKBELL_THREADS: '1',
    };
    const service = await serve(serveFlags, { environment });
    await service.waitFor(/operator’s listener is at/);
    const { stdout: link } = await runCommand(wordsOf('invite')[0]!, { environment });
    const vapidKey = (await (await fetch(`${service.address}/vapidKey`)).json()) as string;
    const registered = await fetch(`${service.address}/webPush`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'deskbell-invitation': link.trim().split('=')[1]!,
      },
      body: JSON.stringify(await userAgent.subscribe(vapidKey)),
    });
    assert.equal(registered.status, 200);
    const received = async () => JSON.parse((await userAgent.nextMessage()).text()) as object;

    const sent = await runCommand(wordsOf('send')[0]!, { environment });
    assert.equal(sent.exitCode, 0, sent.stderr);
    assert.deepEqual(await received(), { title: host, message: 'Backups are done' });

    const { stdout: address } = await runCommand(wordsOf('bells add')[0]!, { environment });
    const bell = join(folder, 'bell');
    await writeFile(bell, address.replace(/.+/, 'url = "$&"'), { mode: 0o600 });
    const run = (line: string) => execute('bash', ['-c', line.replace('/root/bell', bell)]);
    const assertRung = async (line: string, message: string): Promise<void> => {
      assert.deepEqual(await run(line), { stdout: '', stderr: '' });
      const { tag: _tag, ...shown } = (await received()) as { readonly tag: string };
      assert.deepEqual(shown, { title: 'nas', message });
    };
    const [, ofCron = ''] =
      /&& (curl .*)$/m.exec(blocks('').find((code) => code.includes('curl')) ?? '') ?? [];
    await assertRung(ofCron, 'Backups are done');
    const [, ofSystemd = ''] = /^ExecStart=(.*)$/m.exec(blocks('systemd')[0] ?? '') ?? [];
    await assertRung(
      ofSystemd.replace('%i', 'backup.service').replace('%H', 'nas'),
      'backup.service failed on nas',
    );
  },
);

test(
  'the units for failures are valid',
  { skip: skipWithout('the units of docs/personal.md', [systemd]) },
  async () => {
    const folder = await temporaryFolder();
    const [template = '', line = ''] = blocks('systemd');
    await writeFile(join(folder, 'deskbell-failed@.service'), template);
    await writeFile(join(folder, 'backup.service'), `${line}[Service]\nType=oneshot\nExecStart=/bin/true\n`);
    const { stderr } = await execute('systemd-analyze', [
      'verify',
      '--man=no',
      join(folder, 'backup.service'),
    ]);
    assert.equal(stderr, '');
  },
);
