// `deskbell doctor`: what is fine, what is not and how it is put right, over real files and connections.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { openDataDirectory } from '../../src/cli/data/data-directory.ts';
import {
  checkClock,
  checkData,
  checkEncryption,
  checkNetwork,
  checkOpenFiles,
  checkSubject,
  describeDiskSpace,
  type Finding,
  vendorOrigins,
} from '../../src/cli/doctor/checks.ts';
import { generateVapidKeys } from '../../src/protocol/vapid.ts';
import { startPushService } from '../../src/push-service/index.ts';
import { makeCertificate } from '../../src/push-service/http/certificate.ts';
import { freePort, listenOnNewPort } from '../../tools/listening.ts';
import { exampleSubscription } from './example-subscriptions.ts';
import { changeDatabase, runCommand, type RunResult, temporaryFolder } from './run-command.ts';

/** @param proxyPort where nobody listens: browsers' push services cannot be reached, with a network or without */
async function examine(words: readonly string[], proxyPort: number): Promise<RunResult> {
  const environment = { https_proxy: `http://user:secret@127.0.0.1:${proxyPort}` };
  return runCommand(['doctor', ...words], { environment });
}

const offline = () => Promise.reject(Object.assign(new Error('no network'), { code: 'EAI_AGAIN' }));

const toLoopback = async () => [{ address: '127.0.0.1', family: 4 as const }];

const byStatus = (findings: readonly Finding[]) =>
  Object.fromEntries(findings.map(({ subject, status }) => [subject, status]));

const parse = (stdout: string): readonly Finding[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Finding);

suite('deskbell doctor', () => {
  test('names what is fine and exits with 0 where a push service can be reached', async () => {
    await using pushService = await startPushService();
    const data = await temporaryFolder();
    const input = JSON.stringify(exampleSubscription(1));
    await runCommand(['keys', 'generate', '--data', data]);
    await runCommand(['subscriptions', 'import', '-', '--data', data], { input });
    const before = await readFile(join(data, 'deskbell.db'));
    const contact = 'mailto:push@site.com';
    const words = ['--data', data, '--subject', contact, '--push-services', pushService.origin];
    const port = await freePort();
    const { exitCode, stdout, stderr } = await examine([...words, '--json', '--encryption', 'builtin'], port);
    assert.equal(exitCode, 0, stderr + stdout);
    const findings = parse(stdout);
    const { disk, 'open files': openFiles, ...found } = byStatus(findings);
    assert.ok(disk !== undefined && openFiles !== undefined, 'they depend on the machine');
    assert.deepEqual(found, {
      versions: 'ok',
      'data directory': 'ok',
      database: 'ok',
      keys: 'ok',
      sending: 'ok',
      workers: 'ok',
      backup: 'ok',
      subject: 'ok',
      encryption: 'ok',
      proxy: 'ok',
      network: 'warning',
      [new URL(pushService.origin).host]: 'ok',
      clock: 'ok',
    });
    const detailOf = (name: string) => findings.find(({ subject }) => subject === name)?.detail ?? '';
    assert.equal(detailOf('clock'), `agrees with ${new URL(pushService.origin).host}`);
    assert.equal(detailOf('proxy'), `127.0.0.1:${port}`);
    assert.match(detailOf('versions'), /^Deskbell \d\S*, Node \d\S*, OpenSSL \S+, SQLite \d\S*$/);
    assert.ok(!stdout.includes('secret'), 'the password of the proxy');
    for (const { status, cure } of findings) assert.equal(cure === undefined, status === 'ok');
    assert.deepEqual(await readFile(join(data, 'deskbell.db')), before, 'nothing was changed');

    // the contact may be the origin of the public URL that serve was given
    await writeFile(join(data, 'settings.json'), JSON.stringify({ publicUrl: 'https://site.com/push' }));
    const shown = await examine(
      words.filter((word) => word !== '--subject' && word !== contact),
      port,
    );
    assert.match(shown.stdout, /^ok {7}subject +https:\/\/site\.com$/m);
    assert.match(shown.stdout, /^ok {7}keys +1 VAPID pair, current B[\w-]{86}$/m);
    assert.match(shown.stdout, /^warning {2}network .*\n +→ Check the network/m);
  });

  test('names each fault of the data with its cure, and exits with 1', async () => {
    const folder = await temporaryFolder();
    const data = join(folder, 'data');
    const look = async (directory = data): Promise<ReadonlyMap<string, Finding>> =>
      new Map((await checkData(directory, undefined)).map((finding) => [finding.subject, finding]));
    const missing = await look(join(folder, 'none'));
    assert.deepEqual([...missing.keys()], ['data directory']);
    assert.match(missing.get('data directory')?.cure ?? '', /Give another --data/);
    assert.ok(!existsSync(join(folder, 'none')), 'it changes nothing');
    const { exitCode, stderr } = await examine(['--data', join(folder, 'none')], await freePort());
    assert.equal(exitCode, 1);
    assert.match(stderr, /There are 2 faults\. Follow the advice below each\. \[ERR_FAULTS_FOUND\]/);

    await runCommand(['keys', 'generate', '--data', data]);
    assert.equal((await look()).get('database')?.status, 'warning', 'there is none yet');
    const { store, close } = await openDataDirectory(data);
    await store.sending.pause('asked');
    assert.equal((await look()).get('sending')?.status, 'warning', 'as a process that runs has left it');
    await store.sending.resume({ withBroadcasts: false });
    await close();

    assert.equal((await look()).get('backup')?.detail, 'none was made yet');
    await runCommand(['backup', join(folder, 'backup'), '--data', data]);
    assert.match((await look()).get('backup')?.detail ?? '', /^the last one ended at 20\d\d-/);

    const bare = join(folder, 'bare');
    await mkdir(bare);
    await chmod(bare, 0o770);
    assert.match((await look(bare)).get('data directory')?.detail ?? '', /bare has mode 0770/);
    await chmod(data, 0o770);
    assert.match((await look()).get('data directory')?.detail ?? '', /data has mode 0770/);
    await chmod(data, 0o700);
    await chmod(join(data, 'session-key'), 0o644);
    assert.match((await look()).get('data directory')?.detail ?? '', /session-key has mode 0644/);
    await chmod(join(data, 'session-key'), 0o600);

    const keyFile = join(data, 'vapid-keys.json');
    await writeFile(keyFile, JSON.stringify(generateVapidKeys()));
    const other = (await look()).get('keys');
    assert.match(
      `${other?.status} ${other?.detail}`,
      /^fault No key file in \S+ has the private half of the VAPID key B\S+ \(current, 0 subscriptions\)/,
    );

    const path = join(data, 'deskbell.db');
    const setSchema = (schema: number) => changeDatabase(data, `pragma user_version = ${schema}`);
    setSchema(2);
    assert.match((await look()).get('database')?.detail ?? '', /has schema 2, of a Deskbell before 1\.0\.0/);
    setSchema(9999);
    assert.match((await look()).get('database')?.detail ?? '', /schema 9999/);
    setSchema(1000);
    const bytes = await readFile(path);
    await writeFile(path, bytes.fill(0xff, 4096, 3 * 4096));
    const damaged = (await look()).get('database');
    assert.match(`${damaged?.detail} ${damaged?.cure}`, /is damaged Restore it from a backup/);
  });

  test('offline it says so once', async () => {
    const findings = await checkNetwork({ resolve: offline });
    assert.deepEqual(byStatus(findings), { proxy: 'ok', network: 'fault', clock: 'ok' });
  });

  test('allows the addresses that are set, as sending does', async () => {
    // a setting that does not go together with another one is named only by who uses it
    const words = ['--push-services', 'public', '--push-service-addresses', '198.18.0.0/15'];
    const { stdout } = await examine(['--data', await temporaryFolder(), ...words], await freePort());
    assert.match(stdout, /"pushServiceAddresses" cannot be used while "pushServices" has "public"/);
  });

  test('names the cause and the cure where all push services have an address that is not public', async () => {
    for (const [address, cure] of [
      ['198.18.0.5', /proxy or VPN .*"pushServiceAddresses"/],
      ['64:ff9b:1::808:808', /NAT64.*"nat64Prefix"/],
      ['127.0.0.1', /hosts file/],
    ] as const) {
      const resolve = async () => [{ address, family: isIP(address) as 4 | 6 }];
      const findings = await checkNetwork({ resolve });
      const network = findings.find(({ subject }) => subject === 'network');
      assert.equal(network?.status, 'fault');
      assert.match(network?.cure ?? '', cure);
    }
  });

  test('asks a push service for the time, and for nothing else', async (t) => {
    const asked: string[] = [];
    const server = createHttpServer(({ method, url }, response) => {
      asked.push(`${method} ${url}`);
      response.end();
    });
    const port = await listenOnNewPort(server);
    const host = `127.0.0.1:${port}`;
    t.after(() => server.close());
    // what names no single push service cannot be asked
    const listed = ['public', 'https://*.push.example.org', `http://${host}`];
    const findings = await checkNetwork({ pushServices: listed, resolve: offline });
    assert.deepEqual(byStatus(findings), { proxy: 'ok', network: 'warning', [host]: 'ok', clock: 'ok' });
    assert.deepEqual(asked, ['HEAD /']);

    // it connects as sending does: to public addresses, to any of a push service that is named, and past the proxy as noProxy says
    const resolve = toLoopback;
    assert.match((await checkNetwork({ resolve }))[1]!.detail, /not a public address/);
    // an address of this machine that is not loopback, which never goes through a proxy
    const named = `0.0.0.0:${port}`;
    const way = { resolve, pushServices: [`http://${named}`], proxy: `http://${host}` };
    const found = await checkNetwork({ ...way, noProxy: ['0.0.0.0'] });
    assert.deepEqual(byStatus(found), { proxy: 'ok', network: 'warning', [named]: 'ok', clock: 'ok' });
    assert.match(found[1]!.detail, /proxy/);
    assert.equal(found[0]!.detail, `${host}, except for 0.0.0.0`);
    assert.equal(found.at(-1)!.detail, `agrees with ${named}`, 'asked past the proxy too');

    server.on('connect', ({ method, url }, socket: Socket) => {
      asked.push(`${method} ${url}`);
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      server.emit('connection', socket);
    });
    asked.length = 0;
    assert.equal((await checkNetwork(way)).at(-1)!.detail, `agrees with ${named}`);
    // once to connect, as sending does, and once for the time
    const tunnel = `CONNECT ${named}`;
    assert.deepEqual(asked.slice(-3), [tunnel, tunnel, 'HEAD /']);
  });

  test('tells of each push service, and of a clock that is wrong', async (t) => {
    const hosts = vendorOrigins.map((origin) => new URL(origin).hostname);
    const certificate = makeCertificate(hosts.slice(1));
    await using pushService = await startPushService({ tls: certificate });
    const port = Number(new URL(pushService.origin).port);
    const noone = await freePort();
    const connectOverride = (origin: string) => ({
      host: '127.0.0.1',
      port: origin === vendorOrigins[1] ? noone : port,
    });
    const options = { connectOverride, ca: [certificate.cert] };
    const findings = await checkNetwork(options);
    assert.deepEqual(byStatus(findings), {
      proxy: 'ok',
      [hosts[0]!]: 'fault',
      [hosts[1]!]: 'fault',
      [hosts[2]!]: 'ok',
      [hosts[3]!]: 'ok',
      clock: 'ok',
    });
    const details = findings.map(({ detail }) => detail);
    assert.match(details[1] ?? '', /TLS with fcm.googleapis.com failed .*ERR_TLS_CERT_ALTNAME_INVALID/);
    assert.match(details[2] ?? '', /ECONNREFUSED/);
    assert.match(details[3] ?? '', /^TLSv1\.3, h2, connected in \d+ ms$/);
    assert.equal(details[5], `agrees with ${hosts[2]}, ${hosts[3]}`);

    for (const [minutes, status, words] of [
      [-3, 'warning', /^1(?:79|80|81) seconds behind/],
      [3, 'warning', /seconds ahead of/],
      [13 * 60, 'fault', /seconds ahead of/],
    ] as const) {
      const { now } = Date;
      const wrong = t.mock.method(Date, 'now', () => now() + minutes * 60_000);
      const clock = (await checkNetwork(options)).at(-1);
      wrong.mock.restore();
      assert.equal(clock?.status, status);
      assert.match(clock.detail, words);
    }
  });

  test('warns of a missing subject, of one that Apple refuses, of little room and few open files', async () => {
    assert.match(checkSubject(undefined).cure ?? '', /DESKBELL_SUBJECT/);
    assert.match(checkSubject('mailto:a@host.local').detail, /BadJwtToken/);
    const slow = checkEncryption('multi-buffer', join(await temporaryFolder(), 'none.node'));
    assert.equal(slow.status, 'warning');
    assert.match(slow.detail, /builtins: there is no accelerator/);
    assert.deepEqual(
      [1e9, 1e9 - 1, 5e7, 5e7 - 1].map((bytes) => describeDiskSpace(bytes).status),
      ['ok', 'warning', 'warning', 'fault'],
    );
    const minuteMs = 60_000;
    const dayMs = 24 * 60 * minuteMs;
    // one push service whose clock is wrong says nothing of ours
    assert.deepEqual(
      [[minuteMs], [-minuteMs - 1], [dayMs, 0, 0], [dayMs, 0, dayMs]].map(
        (differences) => checkClock(differences.map((differenceMs) => ({ host: '', differenceMs }))).status,
      ),
      ['ok', 'warning', 'ok', 'fault'],
    );
    const file = join(await temporaryFolder(), 'limits');
    const statuses: string[] = [];
    for (const limit of ['1024', '4096', 'unlimited']) {
      await writeFile(
        file,
        `Limit     Soft Limit\nMax open files            ${limit}     1048576    files\n`,
      );
      statuses.push((await checkOpenFiles(file)).status);
    }
    assert.deepEqual(statuses, ['warning', 'ok', 'ok']);
    assert.equal((await checkOpenFiles(`${file}-none`)).status, 'ok');
  });
});
