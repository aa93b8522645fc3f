// Real tools ring real bells: what they send is recognised and made a notification. Those that are not on the path are skipped: apprise and the
// module gotify of python3 are from PyPI; prometheus, prometheus-alertmanager, caddy and nginx from Debian; Go builds both shoutrrr, ntfy and gotify.
import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { find } from '../scripts/install-test-tools.ts';
import { createBellsListener } from '../src/operator/create-operator.ts';
import { createBellSecret, hashBellSecret } from '../src/store/bells.ts';
import { makeCertificate } from '../src/push-service/http/certificate.ts';
import { codeBlocks } from '../test/documentation/pages.ts';
import { startStage } from '../test/operator/running-operator.ts';
import { freePort } from '../tools/listening.ts';
import { until } from '../tools/until.ts';

const execute = promisify(execFile);
const timeout = 120_000;

/** A program, and why tests with it are skipped. */
function program(...names: readonly string[]): { readonly path: string; readonly skip: string | false } {
  const path = find({ names, debianPackage: '' });
  return { path: path ?? '', skip: path === undefined && `${names.join(' or ')} is not on the path.` };
}

/** Bells at the root and at /ring, once with a certificate and once without. */
async function startBells(t: TestContext) {
  const { store, sender, pushService, userAgent } = await startStage(t, [{ user: 'me' }]);
  const secret = createBellSecret();
  const { id } = await store.bells.add({
    name: 'alerts',
    audience: 'all',
    secretHash: hashBellSecret(secret),
  });
  const log = { info: () => {}, error: (record: object) => assert.fail(JSON.stringify(record)) };
  const listen = async (tls?: ReturnType<typeof makeCertificate>): Promise<string> => {
    const app = createBellsListener({ store, sender, log, host: '127.0.0.1', port: 0, tls });
    await app.listen({ host: '127.0.0.1', port: 0 });
    t.after(() => app.close());
    return `127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  };
  /** The newest request and what was made of it. */
  const newest = async () => {
    const [request] = await store.bells.requests(id);
    const [broadcast] = await store.broadcasts.list({ limit: 1 });
    const payload = JSON.parse(Buffer.from(broadcast?.payload ?? '{}').toString()) as Record<string, unknown>;
    return { ...request, ...payload } as Readonly<Record<string, unknown>>;
  };
  const certificate = makeCertificate(['127.0.0.1']);
  return {
    secret,
    secure: await listen(certificate),
    plain: await listen(),
    newest,
    store,
    id,
    sender,
    pushService,
    userAgent,
  };
}

const apprise = program('apprise');
test('Apprise', { skip: apprise.skip, timeout }, async (t) => {
  const { secret, secure, newest } = await startBells(t);
  for (const [url, tool] of [
    [`ntfys://${secure}/${secret}?verify=no&image=no`, 'ntfy, as JSON'],
    [`gotifys://${secure}/ring/${secret}?verify=no`, 'Gotify'],
    [`gotifys://${secure}/${secret}?verify=no&priority=8`, 'Gotify'],
    [`jsons://${secure}/ring/${secret}?verify=no`, 'Apprise'],
    [`forms://${secure}/${secret}?verify=no`, 'Apprise'],
  ] as const) {
    await execute(apprise.path, ['-vvv', '-n', 'failure', '-t', 'Backup „Tee“', '-b', `by ${tool}`, url]);
    const { tool: recognised, title, message } = await newest();
    assert.deepEqual([recognised, title, message], [tool, 'Backup „Tee“', `by ${tool}`], url);
  }
});

for (const name of ['shoutrrr', 'shoutrrr-containrrr']) {
  const { path, skip } = program(name);
  test(name, { skip, timeout }, async (t) => {
    const { secret, plain, newest } = await startBells(t);
    for (const [url, tool, hasTitle] of [
      [`ntfy://${plain}/ring/${secret}?scheme=http`, 'text, as for ntfy', true],
      [`gotify://${plain}/ring/${secret}?disabletls=yes`, 'Gotify', true],
      [`gotify://${plain}/${secret}?disabletls=yes`, 'Gotify', true],
      [`generic://${plain}/ring/${secret}?template=json&disabletls=yes`, 'other JSON, or a form', true],
      [`generic+http://${plain}/${secret}`, 'text, as for ntfy', false],
    ] as const) {
      await execute(path, ['send', '--url', url, '--title', 'Watchtower', '--message', `by ${tool}`]);
      const { tool: recognised, title, message } = await newest();
      assert.deepEqual(
        [recognised, title, message],
        [tool, hasTitle ? 'Watchtower' : 'alerts', `by ${tool}`],
        url,
      );
    }
  });
}

/** Starts a program that ends with the test. */
function start(t: TestContext, path: string, flags: readonly string[], cwd: string): () => string {
  const child = spawn(path, flags, {
    cwd,
    env: { ...process.env, HOME: cwd, XDG_DATA_HOME: cwd, XDG_CONFIG_HOME: cwd },
  });
  let written = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (written += chunk.toString()));
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill();
    await ended;
  });
  return () => written;
}

/** A folder that is removed after the test, with this file in it. */
async function folderWith(t: TestContext, name: string, content: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-bells-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, name), content);
  return folder;
}

/** @returns its port */
async function startAlertmanager(t: TestContext, url: string): Promise<number> {
  const port = await freePort();
  const folder = await folderWith(
    t,
    'alertmanager.yml',
    `route: {receiver: bell, group_by: [alertname], group_wait: 1s, group_interval: 1s}
receivers: [{name: bell, webhook_configs: [{url: '${url}', send_resolved: true}]}]
`,
  );
  const flags = [
    `--config.file=${folder}/alertmanager.yml`,
    `--storage.path=${folder}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--cluster.listen-address=',
  ];
  start(t, alertmanager.path, flags, folder);
  return port;
}

const alertmanager = program('alertmanager', 'prometheus-alertmanager');
test('Alertmanager', { skip: alertmanager.skip, timeout }, async (t) => {
  const { secret, plain, newest } = await startBells(t);
  const port = await startAlertmanager(t, `http://${plain}/ring/${secret}`);
  const send = async (endsAt?: string): Promise<boolean> => {
    const alerts = ['db1', 'db2'].map((instance) => ({
      labels: { alertname: 'DiskFull', severity: 'critical', instance },
      annotations: { summary: `Disk of ${instance} is full` },
      endsAt,
    }));
    const body = JSON.stringify(alerts);
    const { ok } = await fetch(`http://127.0.0.1:${port}/api/v2/alerts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    return ok;
  };
  await until(() => send().then(Boolean, () => false), 'Alertmanager');
  await until(async () => (await newest())['outcome'] === 'rung', 'the alerts');
  const { tool, title, message, tag } = await newest();
  assert.deepEqual(
    [tool, title, message],
    ['Alertmanager', 'DiskFull (2)', 'Disk of db1 is full\nDisk of db2 is full'],
  );
  await send(new Date().toISOString());
  await until(async () => String((await newest())['title']).startsWith('Resolved'), 'the end of the alerts');
  const resolved = await newest();
  assert.deepEqual(
    [resolved['title'], resolved['tag'], resolved['silent']],
    ['Resolved: DiskFull (2)', tag, true],
  );
});

const prometheus = program('prometheus');
test(
  'Prometheus, Alertmanager, and what a browser gets',
  { skip: alertmanager.skip || prometheus.skip, timeout },
  async (t) => {
    const { secret, plain, sender, userAgent } = await startBells(t);
    const port = await startAlertmanager(t, `http://${plain}/ring/${secret}`);
    const folder = await folderWith(
      t,
      'prometheus.yml',
      `global: {evaluation_interval: 1s}
rule_files: [rules.yml]
alerting: {alertmanagers: [{static_configs: [{targets: ['127.0.0.1:${port}']}]}]}
`,
    );
    await writeFile(
      join(folder, 'rules.yml'),
      `groups: [{name: disks, rules: [{alert: DiskFull, expr: 'label_replace(vector(97), "instance", "db1", "", "") > 90', labels: {severity: critical},
  annotations: {summary: 'Disk of {{ $labels.instance }} is at {{ $value }} %'}}]}]
`,
    );
    const stop = new AbortController();
    const working = sender.work(stop.signal);
    const shown = userAgent.nextMessage(60_000);
    const flags = [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${await freePort()}`,
      // it knows no Alertmanager in its first seconds
      '--rules.alert.resend-delay=1s',
    ];
    start(t, prometheus.path, flags, folder);
    const { title, message } = JSON.parse(Buffer.from((await shown).data!).toString()) as Record<
      string,
      unknown
    >;
    assert.deepEqual([title, message], ['DiskFull', 'Disk of db1 is at 97 %']);
    stop.abort();
    await working;
  },
);

const ntfy = program('ntfy');
test('the command ntfy', { skip: ntfy.skip, timeout }, async (t) => {
  const { secret, plain, newest } = await startBells(t);
  await execute(ntfy.path, [
    'publish',
    '--title',
    'Pipe',
    '--tags',
    'tada',
    '--priority',
    'high',
    `http://${plain}/ring/${secret}`,
    'Done',
  ]);
  const { tool, title, message } = await newest();
  assert.deepEqual([tool, title, message], ['text, as for ntfy', '🎉 Pipe', 'Done']);
});

const gotify = program('gotify', 'gotify-cli');
test('the command gotify', { skip: gotify.skip, timeout }, async (t) => {
  const { secret, plain, newest } = await startBells(t);
  await execute(gotify.path, [
    'push',
    '--url',
    `http://${plain}/ring`,
    '--token',
    secret,
    '--title',
    'CLI',
    '--priority',
    '8',
    'Done',
  ]);
  const { tool, title, message } = await newest();
  assert.deepEqual([tool, title, message], ['Gotify', 'CLI', 'Done']);
});

const python = program('python3');
const hasGotify = spawnSync(python.path, ['-c', 'import gotify']).status === 0;
test(
  'the client gotify of PyPI',
  { skip: python.skip || (!hasGotify && 'python3 has no module gotify.'), timeout },
  async (t) => {
    const { secret, plain, newest } = await startBells(t);
    const script = `import gotify
print(gotify.Gotify(base_url="http://${plain}/ring", app_token="${secret}").create_message("Done", title="PyPI", priority=2))`;
    const { stdout } = await execute(python.path, ['-c', script]);
    assert.match(stdout, /'message': 'Done'.*'priority': 2/);
    const { tool, title, message } = await newest();
    assert.deepEqual([tool, title, message], ['Gotify', 'PyPI', 'Done']);
  },
);

const curl = program('curl');
test(
  'what docs/bells.md has for shells: the function and the command of an agent, to a browser',
  { skip: curl.skip, timeout },
  async (t) => {
    const { secret, plain, newest, sender, userAgent } = await startBells(t);
    const home = await mkdtemp(join(tmpdir(), 'deskbell-home-'));
    t.after(() => rm(home, { recursive: true }));
    await writeFile(join(home, '.bell'), `url = "http://${plain}/ring/${secret}"\n`);
    const blocks = codeBlocks.filter(({ path, language }) => path === 'docs/bells.md' && language === 'sh');
    const define = blocks.find(({ code }) => code.startsWith('ring() {'))!.code;
    const run = (script: string) =>
      execute('bash', ['-c', script], { env: { ...process.env, HOME: home }, cwd: tmpdir() });
    const stop = new AbortController();
    const working = sender.work(stop.signal);
    const shown = userAgent.nextMessage();
    await run(`${define}\nring false || test $? = 1`);
    const { title, message } = await newest();
    assert.deepEqual([title, message], ['false', 'exit code 1 in tmp']);
    assert.match(Buffer.from((await shown).data!).toString(), /exit code 1 in tmp/);
    await run(`${define}\ntrue; ring`);
    assert.equal((await newest())['title'], 'Done');
    await run(blocks.at(-1)!.code);
    assert.deepEqual(
      [(await newest())['title'], (await newest())['message']],
      ['Agent', 'waits for you in tmp'],
    );
    stop.abort();
    await working;
  },
);

const proxied = (language: string): string =>
  codeBlocks.find((block) => block.path === 'docs/bells.md' && block.language === language)!.code;

const caddy = program('caddy');
test(
  'Caddy of docs/bells.md passes bells on, and has no secret in its logs',
  { skip: caddy.skip, timeout },
  async (t) => {
    const { secret, plain, newest } = await startBells(t);
    const port = await freePort();
    const configuration = proxied('caddy')
      .replace('{\n', '{\n\tadmin off\n')
      .replace('bell.example.org {', `http://127.0.0.1:${port} {\n\tlog`)
      .replace('127.0.0.1:8081', plain)
      // nothing answers there
      .replace('127.0.0.1:8080', `127.0.0.1:${await freePort()}`);
    const folder = await folderWith(t, 'Caddyfile', configuration);
    const written = start(t, caddy.path, ['run', '--config', join(folder, 'Caddyfile')], folder);
    const post = async (path: string): Promise<number> =>
      (await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: 'Tea' })).status;
    await until(() => post(`/ring/${secret}`).catch(() => 0), 'Caddy');
    assert.equal((await newest())['message'], 'Tea');
    assert.equal(await post(`/else/${secret}?token=${secret}`), 502);
    await until(
      () => written().includes('/else/***?token=***') && written().includes('dial tcp'),
      () => written(),
    );
    assert.ok(!written().includes(secret));
  },
);

const nginx = program('nginx', '/usr/sbin/nginx');
test(
  'nginx of docs/bells.md passes bells on, and has no secret in its logs',
  { skip: nginx.skip, timeout },
  async (t) => {
    const { secret, plain, newest } = await startBells(t);
    const port = await freePort();
    const folder = await folderWith(
      t,
      'nginx.conf',
      `user root; daemon off; pid nginx.pid; error_log error.log info;
events {}
http {
  access_log access.log;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server {
    listen 127.0.0.1:${port};
    ${proxied('nginx').replace('127.0.0.1:8081', plain)}
    location / { return 204; }
  }
}
`,
    );
    start(t, nginx.path, ['-p', folder, '-c', 'nginx.conf', '-e', 'error.log'], folder);
    const post = async (path: string, body = 'Tea'): Promise<number> =>
      (await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body })).status;
    await until(() => post(`/ring/${secret}`).catch(() => 0), 'nginx');
    assert.equal((await newest())['message'], 'Tea');
    assert.equal(await post(`/ring?token=${secret}`, 'x'.repeat(1024 * 1024)), 200);
    // refused by nginx itself, and to be in the log of errors
    assert.equal(await post(`/ring/${secret}`, 'x'.repeat(1024 * 1024 + 1)), 413);
    assert.equal(await post('/logged'), 204);
    const log = () => readFile(join(folder, 'access.log'), 'utf8');
    await until(async () => (await log()).includes('/logged'), 'the log');
    assert.ok(!((await log()) + (await readFile(join(folder, 'error.log'), 'utf8'))).includes(secret));
  },
);
