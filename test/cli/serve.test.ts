// `deskbell serve`: one line when it is ready, a clean end on a signal, clear faults where it cannot start.
import assert from 'node:assert/strict';
import { exec, execFileSync } from 'node:child_process';
import { chmod, mkdir, open, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import { sendJson } from '../service/running-service.ts';
import { exampleSubscription } from './example-subscriptions.ts';
import {
  newData,
  outputOf,
  parseLines,
  runCommand,
  runUntilStopped,
  serve,
  spawnUntilStopped,
  temporaryFolder,
} from './run-command.ts';
import { freePort, listenOnNewPort } from '../../tools/listening.ts';
import { until, within } from '../../tools/until.ts';
import { makeCertificate } from '../../src/push-service/http/certificate.ts';

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

const subject = '--subject mailto:push@example.org';

const rowAt = (host: string) => ({ ...exampleSubscription(1), endpoint: `https://${host}/up` });

suite('deskbell serve', { concurrency: 3 }, () => {
  for (const [signal, run] of [
    ['SIGINT', runUntilStopped],
    ['SIGTERM', spawnUntilStopped],
  ] as const) {
    test(`it makes its data directory, says where it listens, and ends with 0 on ${signal}`, async () => {
      const data = join(await temporaryFolder(), 'made/by/serve');
      const service = run(['serve', '--port', '0', '--data', data]);
      const [, address] = await service.waitFor(/^Deskbell listens on (http:\S+) /);
      const key = (await (await fetch(`${address}/vapidKey`)).json()) as string;
      assert.match(key, /^[\w-]{87}$/);
      assert.equal((await stat(data)).mode & 0o777, 0o700);
      assert.equal(await service.end(signal), 0);
      assert.ok((await runCommand(['keys', 'show', '--data', data])).stdout.includes(key));
    });
  }

  test('stopped while it starts, it closes what it has opened, and ends with 0', async () => {
    const data = await temporaryFolder();
    const { cert } = makeCertificate(['push.example.org']);
    const [pipe, next] = [join(data, 'pipe'), join(data, 'next')];
    execFileSync('mkfifo', [pipe, next]);
    const flags = `--data ${data} --ca ${pipe} --operator 127.0.0.1:0 --webhook http://127.0.0.1:9/ ${subject}`;
    const service = runUntilStopped(`serve --port 0 ${flags}`);
    // the sender reads the certificate, and then the webhook does, with the operator's listener open
    const ofSender = await within(open(pipe, 'w'), 'the sender to read');
    await rename(next, pipe);
    await ofSender.writeFile(cert);
    await ofSender.close();
    const ofWebhook = await within(open(pipe, 'w'), 'the webhook to read');
    const ended = service.end('SIGTERM');
    await ofWebhook.writeFile(cert);
    await ofWebhook.close();
    assert.equal(await within(ended, 'the end of serve', 60_000), 0);
  });

  test('where its webhook cannot be opened, it closes the operator’s listener, and ends with 1', async () => {
    const { data, run } = await newData();
    await writeFile(join(data, 'webhook-secret'), 'cut off', { mode: 0o600 });
    const port = await freePort();
    const flags = `--operator 127.0.0.1:${port} --webhook http://127.0.0.1:9/ ${subject}`;
    const { exitCode, stderr } = await run(`serve --port 0 ${flags}`);
    assert.equal(exitCode, 1);
    assert.match(stderr, /ERR_KEY_FILE_CORRUPT/);
    await assert.rejects(fetch(`http://127.0.0.1:${port}/`), 'nobody listens');
  });

  test('with --json everything on standard output is JSON Lines', async () => {
    const data = await temporaryFolder();
    const service = spawnUntilStopped(['serve', '--port', '0', '--json', '--data', data]);
    let text = '';
    service.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const [line] = await service.waitFor(/^.*"address".*$/);
    const { address } = JSON.parse(line) as { address: string };
    await (await fetch(`${address}/vapidKey`)).text();
    await service.end();
    const lines = text.trim().split('\n');
    assert.ok(lines.length >= 2, 'the line with the address and a record of the request');
    for (const each of lines) assert.doesNotThrow(() => JSON.parse(each) as unknown);
  });

  test('flags reach the service: prefix, logging and its file, authenticate', async () => {
    const data = await temporaryFolder();
    const logFile = join(data, 'records.log');
    const service = await serve(
      `--data ${data} --prefix /push --logging filter --log-file ${logFile} --authenticate get`,
    );
    assert.ok(service.address.endsWith('/push'));
    assert.equal((await fetch(`${service.address}/vapidKey`)).status, 200);
    const elsewhere = service.address.replace('127.0.0.1', '127.0.0.2');
    await assert.rejects(fetch(`${elsewhere}/vapidKey`), 'by default it listens on no other address');
    assert.equal((await fetch(`${service.address}/api/get`)).status, 401);

    const session = await runCommand(['session', 'alice', '--json', '--data', data]);
    const { cookie } = JSON.parse(session.stdout) as { cookie: string };
    const response = await fetch(`${service.address}/api/get`, { headers: { cookie } });
    assert.equal(response.status, 200);
    assert.match(response.headers.get('request-time') ?? '', /^\d+$/);
    await service.end();
    assert.match(await readFile(logFile, 'utf8'), /\/push\/api\/get/);
  });

  test('flags reach the service: limits, proxies, channels, receipts, and what the log has of a subscription', async () => {
    const data = await temporaryFolder();
    const logFile = join(data, 'records.log');
    const service = await serve(
      `--data ${data} --log-file ${logFile} --redact-subscriptions --channels --receipts --receipts-per-minute 1
       --registrations-per-minute 1 --trust-proxy 127.0.0.1 --max-subscriptions 3
       --push-services public --max-push-services 1`.split(/\s+/),
    );
    const post = async (path: string, body: object, client = 1): Promise<number> => {
      const headers = { 'x-forwarded-for': `192.0.2.${client}` };
      return (await sendJson(service.address, 'POST', path, body, headers)).status;
    };
    const register = (row: object, client: number) => post('/webPush', row, client);
    assert.equal(await register(rowAt('one.example.net'), 1), 200);
    assert.equal(await register(exampleSubscription(1), 1), 429, 'registrations of a client');
    assert.equal(await register(rowAt('two.example.net'), 2), 200, 'it takes the only place');
    assert.equal(await register(exampleSubscription(1), 3), 200, 'whoever the proxy says');
    assert.equal(await register(exampleSubscription(2), 4), 503, 'subscriptions');
    assert.deepEqual(
      [await post('/webPush/receipts', { receipts: [] }), await post('/webPush/receipts', { receipts: [] })],
      [204, 429],
    );
    assert.equal((await fetch(`${service.address}/preferences`)).status, 200);
    await service.end();
    const { store, close } = await openDataDirectory(data);
    assert.deepEqual(await store.unlisted.list(), ['https://two.example.net'], 'push services');
    await close();
    const log = await readFile(logFile, 'utf8');
    assert.ok(log.includes('https://one.example.net/…') || log.includes('https://one.example.net/\\u2026'));
    for (const secret of ['https://one.example.net/up', exampleSubscription(1).keys.auth])
      assert.ok(!log.includes(secret));
    const warning = parseLines(log).find(({ event }) => event === 'warning');
    assert.equal(warning.level, 50);
    assert.match(warning.detail, /^3 of at most 3 subscriptions are stored: new ones are refused\./);
  });

  test('--push-only leaves the demonstration out; the start line says which surface is served', async () => {
    const surfaces = [
      { flags: [], line: /^Deskbell listens on (http:\S+) \(with demonstration endpoints\)$/, status: 200 },
      { flags: ['--push-only'], line: /^Deskbell listens on (http:\S+) \(push only\)$/, status: 404 },
    ];
    for (const { flags, line, status } of surfaces) {
      const data = await temporaryFolder();
      const service = runUntilStopped(['serve', '--port', '0', '--data', data, ...flags]);
      const [, address] = await service.waitFor(line);
      for (const path of ['/', '/api/get', '/v1/user/1']) {
        assert.equal((await fetch(`${address}${path}`)).status, status, path);
      }
      for (const path of ['/vapidKey', '/healthz', '/client/index.js']) {
        assert.equal((await fetch(`${address}${path}`)).status, 200, path);
      }
      assert.equal(await service.end(), 0);
      assert.equal(await exists(join(data, 'example-users.db')), flags.length === 0);
    }
    const environment = { DESKBELL_PUSH_ONLY: 'true' };
    const words = `serve --port 0 --json --data ${await temporaryFolder()}`;
    const service = runUntilStopped(words, { environment });
    await service.waitFor(/^{"address":"http:[^"]+","pushOnly":true}$/);
    await service.end();
  });

  test('the command on the demo page sends to this very data directory', async () => {
    const data = join(await temporaryFolder(), 'my data');
    const service = await serve(['--data', data, ...subject.split(' ')]);
    const page = await (await fetch(service.address)).text();
    const [, shown = ''] = /<code id="command">([^<]+)</.exec(page) ?? [];
    const command = shown.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
    const { stdout } = await promisify(exec)(command);
    assert.match(
      stdout,
      /^Nobody is in the audience, so nothing was sent\. "deskbell subscriptions list" shows who has subscribed\.$/m,
    );
    await service.end();
  });

  test('a port in use is a clear fault', async () => {
    const taken = createServer();
    const port = await listenOnNewPort(taken);
    const data = await temporaryFolder();
    for (const [flag, ...words] of [
      ['--port', String(port)],
      ['--operator', `127.0.0.1:${port}`, '--port', '0', '--subject', 'mailto:push@example.org'],
    ] as const) {
      const { exitCode, stderr } = await runCommand(['serve', flag, ...words, '--data', data]);
      assert.equal(exitCode, 1);
      const fault = `Cannot listen on 127\\.0\\.0\\.1 port ${port} \\(${flag}\\): the address is already in use by another program\\.`;
      assert.match(stderr, new RegExp(`^deskbell: ${fault} .* \\[ERR_LISTEN\\]\n$`));
    }
    taken.close();
  });

  test('a data directory that cannot be used is a clear fault', async () => {
    const folder = await temporaryFolder();
    const file = join(folder, 'file');
    await writeFile(file, '');
    const taken = await runCommand(['serve', '--port', '0', '--data', file]);
    assert.match(
      taken.stderr,
      /^deskbell: .* cannot be created: a file with this name exists already\. .*\]\n$/,
    );
    if (process.platform === 'linux') {
      const inProc = await runCommand('serve --port 0 --data /proc/deskbell/data');
      assert.match(inProc.stderr, /^deskbell: .* cannot be created: no such file or directory\. .*\]\n$/);
    }
    await outputOf(runCommand(['keys', 'generate', '--data', join(folder, 'one/two/three')]));
    const below = await runCommand(['serve', '--port', '0', '--data', join(file, 'data')]);
    assert.equal(below.exitCode, 1);
    assert.match(below.stderr, /^deskbell: .*ERR_STORE_UNAVAILABLE\]\n$/);
    // Root may read and write everything.
    if (process.getuid?.() === 0) return;
    const closed = join(folder, 'closed');
    await mkdir(closed);
    await chmod(closed, 0o500);
    const unwritable = await runCommand(['serve', '--port', '0', '--data', join(closed, 'data')]);
    assert.match(unwritable.stderr, /^deskbell: .*\]\n$/);
  });

  test('SIGHUP opens the log file anew after a rotation and loses no record', async () => {
    const data = await temporaryFolder();
    const file = join(data, 'records.log');
    const service = await serve(['--data', data, '--log-file', file]);
    await (await fetch(`${service.address}/vapidKey?before`)).text();
    await rename(file, `${file}.1`);
    service.send('SIGHUP');
    await until(() => exists(file), 'the new log file');
    await (await fetch(`${service.address}/vapidKey?after`)).text();
    assert.equal(await service.end(), 0);
    assert.match(await readFile(`${file}.1`, 'utf8'), /vapidKey\?before/);
    assert.match(await readFile(file, 'utf8'), /^.*vapidKey\?after.*\n$/);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
  });

  test('SIGHUP while the log file cannot be opened is reported, and records go to the old file', async () => {
    const data = await temporaryFolder();
    const file = join(data, 'logs/records.log');
    await mkdir(join(data, 'logs'));
    const service = await serve(['--data', data, '--log-file', file]);
    await rename(join(data, 'logs'), join(data, 'moved'));
    service.send('SIGHUP');
    await until(() => service.written().includes('ERR_FILE'), 'the report');
    await (await fetch(`${service.address}/vapidKey`)).text();
    assert.equal(await service.end(), 0);
    assert.match(await readFile(join(data, 'moved/records.log'), 'utf8'), /log file not reopened.*vapidKey/s);
  });

  test('without a log file it survives SIGHUP, as the worker and the push service do', async () => {
    const { data } = await newData();
    for (const [words, ready] of [
      [`serve --port 0 --data ${data}`, /listens on/],
      [`worker --data ${data} ${subject} --threads 1`, /delivers/],
      ['push-service --port 0', /listens on/],
    ] as const) {
      // the log of a service in this process is a file
      const running = (words.startsWith('serve') ? spawnUntilStopped : runUntilStopped)(words);
      await running.waitFor(ready);
      running.send('SIGHUP');
      assert.equal(await running.end('SIGTERM'), 0, words);
    }
  });

  test('a pipe that nobody reads is no log file, and does not block', async () => {
    const data = await temporaryFolder();
    const pipe = join(data, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const { exitCode, stderr } = await runCommand(`serve --port 0 --data ${data} --log-file ${pipe}`);
    assert.equal(exitCode, 1);
    assert.match(
      stderr,
      /^deskbell: The log file .*pipe cannot be written: no program reads from it.*ERR_FILE\]\n$/,
    );
  });
});
