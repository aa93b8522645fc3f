// To be run in a network and mount namespace of its own, by `two-hosts.all.test.ts`.
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { find, ip } from '../../scripts/install-test-tools.ts';
import { createEndpointPolicy } from '../../src/protocol/endpoint-policy.ts';
import { parseSubscription } from '../../src/protocol/subscription.ts';
import { startPushService } from '../../src/push-service/index.ts';
import { openPostgresStore } from '../../src/store/postgres/open-store.ts';
import { mainFile } from '../cli/run-command.ts';
import { assertDone, timesReceived } from '../delivery/broadcast-bench.ts';
import { codeBlocks } from '../documentation/pages.ts';
import { certify, makeAuthority } from '../store/certificates.ts';
import { PostgresServer } from '../../tools/postgres-server.ts';
import { until } from '../../tools/until.ts';

/** Together fewer than a client may register in a minute. */
const registeredByEach = 25;
const rows = 4100;
const pushOrigin = 'http://push.example.org:8090';
const third = '10.77.0.1';
const bridge = 'deskbell0';

/** The block of docs/scaling.md, by its comments: what is run on each machine. */
const [onFirst = '', onOthers = '', onAny = ''] = (
  codeBlocks.find(({ path, code }) => path === 'docs/scaling.md' && code.startsWith('# on the first machine'))
    ?.code ?? ''
)
  .split(/^# on .*\n/m)
  .slice(1);

const folder = mkdtempSync(join(tmpdir(), 'deskbell-hosts-'));
const run = (command: string, ...parameters: readonly string[]) =>
  execFileSync(command, parameters, { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' });
const network = (...parameters: readonly string[]) => run(find(ip)!, ...parameters);

class Host {
  readonly name: string;
  readonly address: string;
  readonly #variables: Readonly<Record<string, string>>;
  readonly #processes: ChildProcess[] = [];
  output = '';

  constructor(name: string, address: string, variables: Readonly<Record<string, string>>) {
    this.name = name;
    this.address = address;
    this.#variables = variables;
    network('netns', 'add', name);
    network('link', 'add', `to-${name}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    network('link', 'set', `to-${name}`, 'master', bridge, 'up');
    network('-n', name, 'address', 'add', `${address}/24`, 'dev', 'eth0');
    network('-n', name, 'link', 'set', 'eth0', 'up');
    network('-n', name, 'link', 'set', 'lo', 'up');
    mkdirSync(this.#varLib, { recursive: true });
  }

  get #varLib(): string {
    return join(folder, this.name, 'lib');
  }

  /** Runs a service and a worker as the documentation says, one after the other. */
  async startAll(lines: string): Promise<void> {
    const [untilService = '', worker = ''] = lines.split(/^(?=deskbell worker )/m);
    this.run(untilService);
    await this.waitFor(/Deskbell listens on/);
    this.run(`${untilService.match(/^export .*$/gm)?.join('\n')}\n${worker}`);
  }

  /** Runs lines of the documentation, on a disk of the host's own. */
  run(script: string): ChildProcess {
    const child = spawn(
      find(ip)!,
      ['netns', 'exec', this.name, 'sh', '-ec', `mount --bind ${this.#varLib} /var/lib\n${script}`],
      {
        env: { PATH: `${folder}/bin:${process.env['PATH']}`, HOME: folder, ...this.#variables },
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    }
    this.#processes.push(child);
    return child;
  }

  async waitFor(pattern: RegExp): Promise<void> {
    await until(
      () => pattern.test(this.output),
      () => `${pattern} in what ${this.name} writes:\n${this.output}`,
    );
  }

  end(): void {
    for (const { pid } of this.#processes) {
      try {
        process.kill(-pid!, 'SIGKILL');
      } catch {
        // it has ended
      }
    }
  }
}

/** Programs that the documented commands call by their names. There is no network to copy over but this machine's disk. */
function installPrograms(): void {
  const programs = {
    deskbell: `exec ${process.execPath} --disable-warning=ExperimentalWarning ${mainFile} "$@"`,
    scp: `cp -p ${folder}/first/lib/deskbell/*key* /var/lib/deskbell/`,
  };
  mkdirSync(join(folder, 'bin'));
  for (const [name, script] of Object.entries(programs)) {
    const path = join(folder, 'bin', name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
  }
}

/** Passes connections on. @returns who connected */
async function forward(port: number, to: number): Promise<ReadonlySet<string>> {
  const callers = new Set<string>();
  const server = createServer((client) => {
    callers.add(client.remoteAddress ?? '');
    const target = connect(to, '127.0.0.1');
    for (const socket of [client, target]) socket.on('error', () => {});
    client.pipe(target).pipe(client);
  });
  server.listen(port, third);
  await once(server, 'listening');
  server.unref();
  return callers;
}

// The names that hosts have stand in files of this mount namespace.
run('mount', '--make-rprivate', '/');
run('mount', '-t', 'tmpfs', 'none', '/run');
writeFileSync(join(folder, 'hosts'), `127.0.0.1 localhost\n${third} db.example.org push.example.org\n`);
run('mount', '--bind', join(folder, 'hosts'), '/etc/hosts');
network('link', 'set', 'lo', 'up');
network('link', 'add', bridge, 'type', 'bridge');
network('address', 'add', `${third}/24`, 'dev', bridge);
network('link', 'set', bridge, 'up');
installPrograms();

const authority = makeAuthority(folder, 'authority');
const server = await PostgresServer.start();
await server.useTls(certify(authority, folder, 'db.example.org'));
await server.administer(`create role deskbell login password 'password'`);
await server.administer('create database deskbell owner deskbell');
await forward(5432, server.port);
const pushService = await startPushService({ checksBodies: false, origin: pushOrigin });
const senders = await forward(8090, pushService.port);

const variables = { NODE_EXTRA_CA_CERTS: authority.certificate, DESKBELL_PUSH_SERVICES: pushOrigin };
const first = new Host('first', '10.77.0.11', variables);
const second = new Host('second', '10.77.0.12', variables);
const hosts = [first, second];
try {
  await first.startAll(onFirst);
  await second.startAll(onOthers);

  const keys = await Promise.all(
    hosts.map(
      async ({ address }) => (await fetch(`http://${address}:8080/vapidKey`)).json() as Promise<string>,
    ),
  );
  assert.equal(keys[0], keys[1]);
  const vapidPublicKey = keys[0]!;
  const sinks = [...pushService.createSinks(rows, { vapidPublicKey })];
  for (const [index, { address }] of hosts.entries()) {
    const some = sinks.slice(index * registeredByEach, (index + 1) * registeredByEach);
    const answers = await Promise.all(
      some.map((sink) =>
        fetch(`http://${address}:8080/webPush`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(sink),
        }),
      ),
    );
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]), first.output);
  }
  const store = await openPostgresStore({ url: server.urlOf('deskbell') });
  assert.equal(await store.subscriptions.count(), 2 * registeredByEach);
  const policy = createEndpointPolicy([pushOrigin]);
  await store.subscriptions.putAll(
    sinks
      .slice(2 * registeredByEach)
      .map((sink) => ({ subscription: parseSubscription(sink, policy), vapidPublicKey })),
  );

  // slow enough for both to take part
  pushService.faults.inject({ kind: 'delay', ms: 300 });
  const sending = second.run(onAny);
  const [code] = await once(sending, 'exit');
  assert.equal(code, 0, second.output);
  const broadcast = await until(
    async () => (await store.broadcasts.list({ limit: 1 })).find(({ state }) => state === 'done'),
    () => `the end of the broadcast:\n${first.output}${second.output}`,
  );
  assertDone(broadcast, { accepted: rows });
  assert.deepEqual(timesReceived(pushService), { 1: rows });
  assert.deepEqual([...senders].toSorted(), [first.address, second.address]);
  await store.close();
  console.log(`${rows} messages by both hosts, ${registeredByEach} registrations at each`);
} finally {
  for (const host of hosts) host.end();
  await pushService.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exit();
