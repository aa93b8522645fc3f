// To be run in a network of its own, by `deployment.all.test.ts`: what packaging/compose.yaml and packaging/kubernetes/ say, with the commands, variables,
// volumes, health checks and probes as they stand there, on processes (container.ts). All of them share an address, at which the names of
// services lead to it. PostgreSQL is the one of the tests, and Caddy that of Debian.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:https';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { parse, parseAllDocuments } from 'yaml';
import { root } from '../../scripts/repository.ts';
import { startPushService } from '../../src/push-service/index.ts';
import { PostgresServer } from '../../tools/postgres-server.ts';
import { until } from '../../tools/until.ts';
import { Container, imageUser, type Variables } from './container.ts';

const folder = mkdtempSync(join(tmpdir(), 'deskbell-deployment-'));
chmodSync(folder, 0o755);
const user = Number(imageUser);
await using opened = new AsyncDisposableStack();
opened.defer(() => rmSync(folder, { recursive: true }));

execFileSync('ip', ['link', 'set', 'lo', 'up']);
const hosts = join(folder, 'hosts');
writeFileSync(hosts, '127.0.0.1 localhost postgres service deskbell\n');
const pushService = await startPushService({ checksBodies: false });
opened.defer(() => pushService.close());
/** All that is not as it stands there: push services of browsers are not here. */
const ours = { DESKBELL_PUSH_SERVICES: pushService.origin };

const run = { compose: runCompose, kubernetes: runKubernetes }[process.argv[2] ?? ''];
await run!();
console.log('everything runs');

interface ComposeService {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Variables;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly volumes: readonly string[];
  readonly [key: string]: unknown;
}

async function runCompose(): Promise<void> {
  const text = readFileSync(join(root, 'packaging/compose.yaml'), 'utf8');
  const { services } = parse(interpolate(text), { merge: true }) as {
    readonly services: Readonly<Record<string, ComposeService>>;
  };
  const running = new Map<string, Container>();
  const start = async (name: string): Promise<void> => {
    if (running.has(name) || name === 'postgres') return;
    const { image, command, environment, depends_on: needed = {}, volumes, healthcheck } = services[name]!;
    for (const [other, { condition }] of Object.entries(needed)) {
      assert.equal(condition, 'service_healthy');
      await start(other);
    }
    const isOfOthers = image !== 'deskbell';
    const volume = /^(\w+):\/data$/.exec(volumes.join())![1]!;
    const data = makeVolume(volume, isOfOthers ? 0 : user, 0o700);
    const variables = isOfOthers ? { HOME: '/tmp', XDG_DATA_HOME: '/data' } : { ...environment, ...ours };
    const container = new Container(name, folder, {
      words: command!,
      environment: variables,
      data,
      hosts,
      isOfOthers,
    });
    running.set(name, container);
    opened.defer(async () => void (await container.stop()));
    if (healthcheck === undefined) return;
    const [kind, ...words] = healthcheck.test;
    assert.equal(kind, 'CMD');
    await untilSucceeds(container, words);
  };
  await startPostgres(services['postgres']!.environment!);
  for (const name of Object.keys(services)) await start(name);
  const authority = join(folder, 'certificates/caddy/pki/authorities/local/root.crt');
  const ask = (method: string, path: string, body?: object) => askHttps(authority, method, path, body);
  await until(() => ask('GET', '/readyz').catch(() => undefined), 'Caddy to answer');
  assert.deepEqual(await ask('GET', '/readyz'), { status: 200, body: { status: 'ready' } });
  await deliver(running.get('service')!, (subscription) => ask('POST', '/webPush', subscription));
  assert.equal((await ask('GET', '/v1/user/1')).status, 404, 'push only');
  const { output } = await running.get('service')!.exec('deskbell', 'invite', 'me');
  assert.match(output, /https:\/\/localhost\//, 'its public URL');
  for (const name of ['worker', 'service']) assert.equal(await running.get(name)!.stop(), 0, name);
}

/** As Compose does, without an environment and a file .env: with what stands there. */
function interpolate(text: string): string {
  return text.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1');
}

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: any;
  readonly data?: Variables;
  readonly stringData?: Variables;
}

interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: number };
  readonly exec?: { readonly command: readonly string[] };
}

function readManifest(name: string): string {
  return readFileSync(join(root, 'packaging/kubernetes', name), 'utf8');
}

async function runKubernetes(): Promise<void> {
  const { resources: files } = parse(readManifest('kustomization.yaml')) as {
    readonly resources: readonly string[];
  };
  const resources = files.flatMap((name) =>
    parseAllDocuments(readManifest(name), { merge: true }).map((document) => document.toJS() as Resource),
  );
  const find = (kind: string, name: string): Resource =>
    resources.find((resource) => resource.kind === kind && resource.metadata.name === name)!;
  const podOf = (kind: string, name: string) => find(kind, name).spec.template.spec;
  const links = Object.assign(
    {},
    ...resources.filter(({ kind }) => kind === 'Service').map(linksOf),
  ) as Variables;
  assert.equal(links['DESKBELL_PORT'], 'tcp://10.96.0.1:80');
  const variablesOf = ({ env = [], envFrom = [] }: any): Variables => {
    const variables: Record<string, string> = { ...links };
    for (const { configMapRef } of envFrom)
      Object.assign(variables, find('ConfigMap', configMapRef.name).data);
    for (const { name, value, valueFrom } of env) {
      const secret =
        valueFrom && find('Secret', valueFrom.secretKeyRef.name).stringData![valueFrom.secretKeyRef.key];
      variables[name] =
        secret ?? value.replaceAll(/\$\((\w+)\)/g, (_: string, other: string) => variables[other]!);
    }
    return variables;
  };
  await startPostgres(variablesOf(podOf('StatefulSet', 'postgres').containers[0]));

  const { securityContext, containers, volumes } = podOf('Deployment', 'deskbell');
  assert.deepEqual([securityContext.runAsUser, securityContext.fsGroup], [user, user]);
  assert.ok(
    volumes.some(({ persistentVolumeClaim }: any) =>
      find('PersistentVolumeClaim', persistentVolumeClaim?.claimName),
    ),
  );
  // a file system that was just made
  const data = makeVolume('data', 0, 0o755);
  const startPod = async (): Promise<ReadonlyMap<string, Container>> => {
    applyFsGroup(data, securityContext.fsGroup);
    const pod = new Map<string, Container>();
    for (const { name, args, ...container } of containers) {
      const mounted = { words: args, environment: { ...variablesOf(container), ...ours }, data, hosts };
      pod.set(name, new Container(name, folder, mounted));
      opened.defer(async () => void (await pod.get(name)!.stop()));
    }
    for (const { name, startupProbe, readinessProbe = startupProbe, livenessProbe } of containers)
      for (const probe of [startupProbe, readinessProbe, livenessProbe])
        await untilProbed(pod.get(name)!, probe);
    return pod;
  };
  const first = await startPod();
  const { targetPort } = find('Service', 'deskbell').spec.ports[0];
  const register = async (subscription: object) => {
    const response = await fetch(`http://deskbell:${targetPort}/webPush`.replace('deskbell', '127.0.0.1'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(subscription),
    });
    return { status: response.status, body: await response.json() };
  };
  await deliver(first.get('service')!, register);
  for (const container of first.values()) assert.equal(await container.stop(), 0, container.name);
  // the next start of the pod: the group gets its rights to the key files, too
  const second = await startPod();
  assert.ok(
    modesIn(data).some((mode) => (mode & 0o060) !== 0),
    'fsGroup was applied',
  );
  assert.match((await second.get('service')!.exec('deskbell', 'subscriptions', 'list')).output, /^\s*1\s/m);
  for (const container of second.values()) assert.equal(await container.stop(), 0, container.name);
}

/** The variables that a pod gets of a service of its namespace. */
function linksOf({ metadata: { name }, spec }: Resource): Variables {
  const prefix = name.toUpperCase().replaceAll('-', '_');
  const [{ port }] = spec.ports;
  const [address, url] = ['10.96.0.1', `tcp://10.96.0.1:${port}`];
  return {
    [`${prefix}_SERVICE_HOST`]: address,
    [`${prefix}_SERVICE_PORT`]: String(port),
    [`${prefix}_PORT`]: url,
    [`${prefix}_PORT_${port}_TCP`]: url,
    [`${prefix}_PORT_${port}_TCP_PROTO`]: 'tcp',
    [`${prefix}_PORT_${port}_TCP_PORT`]: String(port),
    [`${prefix}_PORT_${port}_TCP_ADDR`]: address,
  };
}

/** What the kubelet does to a volume: everything belongs to the group, which may read and write it; what is made in folders, too. */
function applyFsGroup(path: string, group: number): void {
  const { uid, mode } = statSync(path);
  const isFolder = statSync(path).isDirectory();
  chownSync(path, uid, group);
  chmodSync(path, mode | 0o660 | (isFolder ? 0o2110 : 0));
  if (isFolder) for (const name of readdirSync(path)) applyFsGroup(join(path, name), group);
}

function modesIn(path: string): readonly number[] {
  const entries = readdirSync(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name)).mode);
}

async function untilProbed(container: Container, { httpGet, exec }: Probe): Promise<void> {
  if (exec !== undefined) return untilSucceeds(container, exec.command);
  const { path, port } = httpGet!;
  await until(
    async () => {
      container.keepRunning();
      return (await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined))?.ok;
    },
    () => `${path} of ${container.name}:\n${container.output}`,
  );
}

async function untilSucceeds(container: Container, words: readonly string[]): Promise<void> {
  let last = '';
  await until(
    async () => {
      container.keepRunning();
      const { exitCode, output } = await container.exec(...words);
      last = output;
      return exitCode === 0;
    },
    () => `${words.join(' ')} in ${container.name}:\n${last}\n${container.output}`,
  );
}

/** @param mode of an empty folder, which belongs to this user and group */
function makeVolume(name: string, owner: number, mode: number): string {
  const volume = join(folder, name);
  if (readdirSync(folder).includes(name)) return volume;
  mkdirSync(volume);
  chownSync(volume, owner, owner);
  chmodSync(volume, mode);
  return volume;
}

/** At its usual port, with the user and the database that its image makes. */
async function startPostgres({ POSTGRES_USER: name, POSTGRES_PASSWORD: password }: Variables): Promise<void> {
  const server = await PostgresServer.start();
  opened.defer(() => server.stop());
  await server.administer(`create role ${name} superuser login password '${password}'`);
  await server.administer(`create database ${name} owner ${name}`);
  const forward = createServer((socket) => {
    const other = connect(server.port, '127.0.0.1');
    for (const [one, next] of [
      [socket, other],
      [other, socket],
    ] as const) {
      one.on('error', () => next.destroy());
      one.pipe(next);
    }
  });
  await once(forward.listen(5432, '127.0.0.1'), 'listening');
  opened.defer(() => void forward.close());
}

async function askHttps(authority: string, method: string, path: string, body?: object) {
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': '192.0.2.1' };
  const asked = request(`https://localhost${path}`, { method, headers, ca: readFileSync(authority) });
  asked.end(body && JSON.stringify(body));
  const [response] = (await once(asked, 'response')) as [import('node:http').IncomingMessage];
  return { status: response.statusCode!, body: await json(response).catch(() => undefined) };
}

/** Registers a browser, sends to it with the command as it is in the container, and waits until the worker has delivered. */
async function deliver(
  service: Container,
  register: (subscription: object) => Promise<{ readonly status: number; readonly body: unknown }>,
): Promise<void> {
  const shown = await service.exec('deskbell', 'keys', 'show', '--json');
  assert.equal(shown.exitCode, 0, shown.output);
  const { publicKey } = JSON.parse(shown.output) as { readonly publicKey: string };
  const [subscription] = pushService.createSinks(1, { vapidPublicKey: publicKey });
  const { status, body } = await register(subscription!);
  assert.equal(status, 200, JSON.stringify(body));
  const sent = await service.exec('deskbell', 'send', '--all', '--detach', 'Tea is ready');
  assert.equal(sent.exitCode, 0, sent.output);
  await until(() => pushService.tallySinks()[0]!.messages === 1, 'the message');
}
