// What stands in packaging/ for those who run Deskbell: the systemd unit, the container file, the proxy in front.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { caddy, find, nginx, python, skipWithout, systemd } from '../scripts/install-test-tools.ts';
import { underSystemd } from '../src/cli/commands/serve.ts';
import { startCaddy } from '../tools/caddy.ts';
import { startNginx } from '../tools/nginx.ts';
import { prepareProxy } from './proxied-hosts.ts';
import { exampleSubscription } from './cli/example-subscriptions.ts';
import { runCommand, spawnUntilStopped, temporaryFolder } from './cli/run-command.ts';
import { until } from '../tools/until.ts';

const execute = promisify(execFile);
const root = join(import.meta.dirname, '..');
const readPackaging = (name: string) => readFile(join(root, 'packaging', name), 'utf8');
const readPage = (name: string) => readFile(join(root, 'docs', name), 'utf8');

test(
  'the systemd unit is valid, and as closed as docs/deploy.md says',
  {
    skip: skipWithout('the systemd unit', [systemd]),
  },
  async () => {
    const file = join(await temporaryFolder(), 'deskbell.service');
    const unit = await readPackaging('deskbell.service');
    await writeFile(file, unit.replace('/usr/bin/deskbell', process.execPath));
    const verified = await execute('systemd-analyze', ['verify', '--man=no', file]);
    assert.equal(verified.stderr, '');
    const { stdout } = await execute('systemd-analyze', ['security', '--offline=yes', file]);
    const [, level] = /exposure level for \S+: ([\d.]+)/.exec(stdout) ?? [];
    const documented = /exposure at (\d\.\d)/.exec(await readPage('deploy.md'))?.[1];
    // newer versions look at more
    assert.ok(
      Math.abs(Number(level) - Number(documented)) <= 0.3,
      `it is ${level}, and documented as ${documented}`,
    );
  },
);

test('the systemd unit has the limits and the rights that docs/operations.md names', async () => {
  const [, openFiles = ''] = /unit allows ([\d,]+)/i.exec(await readPage('operations.md')) ?? [];
  const lines = (await readPackaging('deskbell.service')).split('\n');
  for (const line of [
    `LimitNOFILE=${openFiles.replace(',', '')}`,
    'Type=notify',
    // it is not the process itself that tells
    'NotifyAccess=all',
    'ExecStart=/usr/bin/deskbell serve --push-only --deliver',
    'WatchdogSec=60',
    'Restart=on-failure',
    "ExecReload=/bin/sh -c 'kill -HUP $MAINPID'",
    'DynamicUser=yes',
    'StateDirectory=deskbell',
    'Environment=DESKBELL_DATA=%S/deskbell',
    'LoadCredential=config.json:/etc/deskbell/config.json',
    'Environment=DESKBELL_CONFIG=%d/config.json',
  ])
    assert.ok(lines.includes(line), line);
});

test(
  'systemd is told when the service is ready, that it is alive, and when it stops',
  {
    skip: skipWithout('what systemd is told', [systemd, python]),
  },
  async () => {
    const folder = await temporaryFolder();
    const socket = join(folder, 'notify');
    const listen = `import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(${JSON.stringify(socket)})
while True: print(s.recv(4096).decode().replace(chr(10), " "), flush=True)`;
    const listener = spawn(find(python) ?? '', ['-c', listen], { stdio: ['ignore', 'pipe', 'inherit'] });
    after(() => listener.kill());
    await until(() => existsSync(socket), 'the socket');
    const lines = createInterface(listener.stdout)[Symbol.asyncIterator]();
    const next = async (pattern: RegExp): Promise<void> => {
      for (;;) {
        const { value, done } = (await lines.next()) as IteratorResult<string, undefined>;
        if (done) throw new Error(`systemd was not told ${pattern}.`);
        if (pattern.test(value)) return;
      }
    };
    const environment = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '300000' };
    const service = spawnUntilStopped(['serve', '--port', '0', '--data', join(folder, 'data')], {
      environment,
    });
    await next(new RegExp(`READY=1 .*MAINPID=${service.child.pid}\\b`));
    await next(/WATCHDOG=1/);
    const ended = service.end();
    await next(/STOPPING=1/);
    assert.equal(await ended, 0);
  },
);

test('systemd is told three times within the time that its watchdog waits', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const folder = await temporaryFolder();
  const told = join(folder, 'told');
  await writeFile(join(folder, 'systemd-notify'), `#!/bin/sh\necho "$*" >> ${told}\n`, { mode: 0o755 });
  const environment = { NOTIFY_SOCKET: '/nowhere/at/all', WATCHDOG_USEC: '60000000', PATH: folder };
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const work = (): Promise<void> => {
    begun.resolve();
    return end.promise;
  };
  const { signal } = new AbortController();
  const ended = underSystemd({ environment, stop: signal }, assert.fail, work);
  await begun.promise;
  for (let pings = 1; pings <= 3; pings += 1) {
    t.mock.timers.tick(20_000);
    const count = async () => (await readFile(told, 'utf8')).match(/^WATCHDOG=1$/gm)?.length;
    await until(async () => (await count()) === pings, `${pings} pings`);
  }
  end.resolve();
  await ended;
});

test('a service that cannot tell systemd says so once, and serves; a worker tells it too', async () => {
  const folder = await temporaryFolder();
  const attempts = join(folder, 'attempts');
  const program = `#!/bin/sh\necho "$*" >> ${attempts}\nexit 1\n`;
  await writeFile(join(folder, 'systemd-notify'), program, { mode: 0o755 });
  const environment = { NOTIFY_SOCKET: '/nowhere/at/all', WATCHDOG_USEC: '90000', PATH: folder };
  const data = await temporaryFolder();
  const words = ['serve', '--port', '0', '--json', '--data', data];
  const service = spawnUntilStopped(words, { environment });
  await service.waitFor(/systemd cannot be told how this process is/);
  const [, address = ''] = await service.waitFor(/"address":"([^"]+)"/);
  const tried = async () => (await readFile(attempts, 'utf8')).split('\n').length > 3;
  await until(tried, 'three attempts to tell systemd');
  assert.equal((await fetch(`${address}/healthz`)).status, 200);
  assert.equal(await service.end(), 0);
  assert.equal(service.written().match(/systemd cannot be told/g)?.length, 1);

  const subject = ['--subject', 'mailto:push@example.org'];
  const worker = spawnUntilStopped(['worker', '--data', data, ...subject], { environment });
  await until(() => worker.written().includes('systemd cannot be told'), 'what the worker says');
  assert.equal(await worker.end(), 0);
});

test('the container file pins its base, runs as nobody’s root, and its health check tells a service that is ready', async () => {
  const file = await readPackaging('Containerfile');
  const { devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    readonly devDependencies: { readonly node: string };
  };
  const bases = Array.from(file.matchAll(/^FROM (\S+)/gm), ([, base]) => base);
  assert.deepEqual(new Set(bases), new Set([`node:${devDependencies.node}-trixie-slim`]));
  const last = file.slice(file.lastIndexOf('\nFROM '));
  assert.match(last, /^USER 1000:1000$/m);
  assert.ok(last.indexOf('\nUSER ') > last.lastIndexOf('\nRUN '), 'nothing is installed as that user');
  assert.match(last, /^RUN install --directory --owner=1000 .* \/data\n(?:.*\n)*VOLUME \/data$/m);
  assert.match(last, /^ENV (?:.*\\\n)*.*\bDESKBELL_DATA=\/data\b/m);
  for (const name of ['ENTRYPOINT', 'CMD'])
    assert.match(last, new RegExp(`^${name} \\[".*"\\]$`, 'm'), 'gets signals');

  // test/cli/serving.test.ts tries it
  assert.match(last, /^HEALTHCHECK (?:.*\\\n)*\s*CMD \["deskbell", "healthcheck"\]$/m);
});

/** What a proxy of the examples is started with. */
interface ProxyStart {
  /** With `cert.pem` and `key.pem` for both names. */
  readonly folder: string;
  readonly port: number;
  /** Host and port of the listeners. */
  readonly service: string;
  readonly operator: string;
}

const proxies = [
  {
    name: 'nginx',
    program: nginx,
    async start({ folder, port, service: serviceHost, operator }: ProxyStart) {
      const example = (await readPackaging('nginx.conf'))
        .replaceAll('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
        .replaceAll(/(ssl_certificate) \S+;/g, '$1 cert.pem;')
        .replaceAll(/(ssl_certificate_key) \S+;/g, '$1 key.pem;')
        .replaceAll('127.0.0.1:8080', serviceHost)
        .replaceAll('127.0.0.1:8081', operator);
      return startNginx(folder, { port, http: `access_log off; ${example}` });
    },
  },
  {
    name: 'Caddy',
    program: caddy,
    start: async ({ folder, port, service: serviceHost, operator }: ProxyStart) =>
      startCaddy(folder, {
        example: await readPackaging('Caddyfile'),
        port,
        replaced: { '127.0.0.1:8080': serviceHost, '127.0.0.1:8081': operator },
      }),
  },
];

for (const { name: proxyName, program, start } of proxies) {
  const skip = skipWithout(`the example for ${proxyName}`, [program]);
  const title = `${proxyName} with the example leads to both listeners, each by its name, with events at once`;
  test(title, { skip }, async () => {
    const folder = await temporaryFolder();
    const data = join(folder, 'data');
    const input = JSON.stringify(exampleSubscription(1));
    await runCommand(['keys', 'generate', '--data', data]);
    await runCommand(['subscriptions', 'import', '-', '--data', data], { input });
    const subject = 'mailto:push@example.org';
    const message = ['--title', 't', '--message', 'm', '--subject', subject];
    await runCommand(['send', '--all', '--at', '2099-01-01T00:00:00Z', ...message, '--data', data]);
    const { stdout } = await runCommand(['operators', 'add', 'shop', '--data', data]);
    const token = /\S{40,}/.exec(stdout)?.[0] ?? '';
    const { port, ask, status } = await prepareProxy(folder, ['push.example.org', 'ops.example.org']);
    const serving = ['serve', '--push-only', '--json', '--port', '0', '--data', data, '--subject', subject];
    const proxied = ['--trust-proxy', '127.0.0.1', '--registrations-per-minute', '1'];
    const operator = [
      '--operator',
      '127.0.0.1:0',
      '--operator-behind-proxy',
      '--operator-hosts',
      `ops.example.org,ops.example.org:${port}`,
    ];
    const service = spawnUntilStopped([...serving, ...proxied, ...operator]);
    const [line] = await service.waitFor(/^\{"address".*$/);
    const addresses = JSON.parse(line) as { readonly address: string; readonly operator: string };

    const hosts = {
      service: new URL(addresses.address).host,
      operator: new URL(addresses.operator).host,
    };
    const proxy = await start({ folder, port, ...hosts });
    after(() => proxy.stop());

    await until(() => status('push.example.org', '/healthz').catch(() => undefined), 'the proxy to answer');

    assert.equal(await status('push.example.org', '/vapidKey'), 200);
    await assert.rejects(status('stray.example.org', '/vapidKey'), /alert number/);
    const register = (name: string, forwardedFor: string): Promise<number | undefined> =>
      status(
        'push.example.org',
        '/webPush',
        { 'x-forwarded-for': forwardedFor },
        JSON.stringify(exampleSubscription(name)),
      );
    assert.equal(await register('a', '192.0.2.1'), 200);
    assert.equal(await register('b', '192.0.2.2'), 429, 'an address that the client makes up does not count');

    const authorization = `Bearer ${token}`;
    assert.equal(await status('ops.example.org', '/v1/broadcasts', { authorization }), 200);
    assert.equal(await status('ops.example.org', '/v1/broadcasts'), 401);
    // a page on a port of its own says it in Host and Origin
    const withPort = `ops.example.org:${port}`;
    const origin = `https://${withPort}`;
    assert.equal(await status(withPort, '/v1/broadcasts', { authorization, origin }), 200);
    const form = { origin, 'content-type': 'application/x-www-form-urlencoded' };
    const guess = (forwardedFor: string): Promise<number | undefined> =>
      status(withPort, '/console/sign-in', { ...form, 'x-forwarded-for': forwardedFor }, 'token=guess');
    for (let attempt = 0; attempt < 10; attempt += 1) assert.equal(await guess(`192.0.2.${attempt}`), 403);
    assert.equal(await guess('192.0.2.10'), 429, 'whoever guesses a token cannot make up an address either');
    assert.equal(await status('push.example.org', '/v1/broadcasts', { authorization }), 404);
    const events = await ask('ops.example.org', '/v1/broadcasts/1/events', { authorization });
    assert.match(events.headers['content-type'] ?? '', /^text\/event-stream/);
    const [first] = (await once(events, 'data')) as [Buffer];
    assert.match(first.toString(), /^(?:id|event|data|retry|:)/m);
    events.destroy();
    const refused = await ask('ops.example.org', '/v1/broadcasts', {
      authorization,
      origin: 'https://push.example.org',
    });
    assert.match(await text(refused), /ERR_ORIGIN_REFUSED/);
  });
}
