// The checks of `deskbell doctor`: the machine, the connection to push services, and the data directory.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, statfs } from 'node:fs/promises';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { TLSSocket } from 'node:tls';
import type { EncryptionMethod } from '../../accelerator/encryption-methods.ts';
import { loadAccelerator } from '../../accelerator/load-accelerator.ts';
import { describePause, pauseRemedy } from '../../delivery/alarms/installation-warnings.ts';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { catalogue } from '../../errors/catalogue.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { countOf, formatBytes } from '../../errors/format-count.ts';
import { isOnReadOnlyDisk } from '../../keys/private-file.ts';
import { checkSecrets } from '../../keys/secret-files.ts';
import { describeMissingKeys, missingKeysRemedy, readKeyRing } from '../../keys/vapid-key-files.ts';
import { defaultTokenLifetimeSeconds, findAppleSubjectFault } from '../../protocol/vapid.ts';
import type { DatabaseContent, DatabaseState } from '../../store/database-content.ts';
import { describeDatabase as describeUrl } from '../../store/postgres/database-url.ts';
import type { PostgresState } from '../../store/postgres/preflight.ts';
import { inspectDatabase } from '../../store/sqlite/inspect-database.ts';
import { defaultTimeouts } from '../../transport/check-options.ts';
import { connect, createTrust, readConnectSettings } from '../../transport/connect.ts';
import { isProxyBypassed, parseProxy } from '../../transport/proxy.ts';
import type { TransportOptions } from '../../transport/transport.ts';
import { packageVersion } from '../commands/version.ts';
import { variableOf } from '../configuration/configuration.ts';
import { databasePathOf } from '../data/data-directory.ts';
import { readLastBackup } from '../data/noted-facts.ts';
import { requireData } from '../data/open-data.ts';
import { describeError } from '../output/failure.ts';

export interface Finding {
  /** What was checked, such as `keys` or `fcm.googleapis.com`. */
  readonly subject: string;
  /** `warning`: it works, but may fail later. `fault`: something does not work. */
  readonly status: 'ok' | 'warning' | 'fault';
  readonly detail: string;
  /** The remedy; absent if `ok`. */
  readonly cure?: string | undefined;
}

export type Outcome = Omit<Finding, 'subject'>;

export const ok = (detail: string): Outcome => ({ status: 'ok', detail });
export const warning = (detail: string, cure: string): Outcome => ({ status: 'warning', detail, cure });

/** Runs a check. If the check throws an error, the result is a fault. */
async function findingOf(subject: string, look: () => Promise<Outcome> | Outcome): Promise<Finding> {
  try {
    return { subject, ...(await look()) };
  } catch (error) {
    const { remedy } = error instanceof DeskbellError ? error : catalogue.ERR_COMMAND;
    return { subject, status: 'fault', detail: describeError(error), cure: remedy };
  }
}

/** Number of open files. Each client and each connection to a push service uses one. */
const enoughFiles = 4096;

export function checkNode(): Outcome {
  const { node, openssl, sqlite } = process.versions;
  return ok(`Deskbell ${packageVersion()}, Node ${node}, OpenSSL ${openssl}, SQLite ${sqlite ?? 'unknown'}`);
}

/** Reads the limit that applies to this process. When Node starts, it raises the limit as far as possible. */
export async function checkOpenFiles(limitsFile = '/proc/self/limits'): Promise<Outcome> {
  const limits = await readFile(limitsFile, 'utf8').catch(() => '');
  const limit = /^Max open files +(\S+)/m.exec(limits)?.[1];
  if (limit === undefined) return ok('this system does not report their limit');
  if (limit === 'unlimited' || Number(limit) >= enoughFiles) return ok(limit);
  const cure = `Raise the limit to ${enoughFiles} or more: "ulimit -n", or LimitNOFILE= in the systemd unit.`;
  return warning(`at most ${limit}, which a busy service may reach`, cure);
}

/** @param file the accelerator. Default: the one that sending uses */
export function checkEncryption(fastest: EncryptionMethod, file?: string): Outcome {
  const { method, reason } = loadAccelerator({ fastest, file });
  if (reason === undefined) return ok(`${method}, checked`);
  const cure = 'It works, at two to four times the processor time. See "What it costs" in docs/sending.md.';
  return warning(reason, cure);
}

const secondMs = 1000;
const toleratedMs = 60 * secondMs;

/** The clock of a push service that responded, compared with ours. */
interface ServerTime {
  readonly host: string;
  /** The server's clock minus ours. */
  readonly differenceMs: number;
}

export function checkClock(times: readonly ServerTime[]): Outcome {
  const differences = times.map(({ differenceMs }) => differenceMs).toSorted((a, b) => a - b);
  const median = differences[Math.floor(differences.length / 2)];
  if (median === undefined) return ok('not compared: no push service gave the time');
  const awayMs = Math.abs(median);
  if (awayMs <= toleratedMs) return ok(`agrees with ${formatHosts(times)}`);
  const seconds = Math.round(awayMs / secondMs);
  return {
    status: awayMs >= defaultTokenLifetimeSeconds * secondMs ? 'fault' : 'warning',
    detail: `${seconds} seconds ${median > 0 ? 'behind' : 'ahead of'} ${formatHosts(times)}`,
    cure: 'Set the clock, and keep it right with NTP. Push services refuse tokens that a wrong clock has dated.',
  };
}

const formatHosts = (times: readonly ServerTime[]): string => times.map(({ host }) => host).join(', ');

// Checks connectivity to the push services: proxy, DNS, connection, TLS and clock. The only request sent is `HEAD /`.

/** One host for each vendor. */
export const vendorOrigins = [
  'https://fcm.googleapis.com',
  'https://updates.push.services.mozilla.com',
  'https://web.push.apple.com',
  'https://wns2-par02p.notify.windows.com',
];

type NetworkOptions = Pick<
  TransportOptions,
  | 'pushServices'
  | 'pushServiceAddresses'
  | 'nat64Prefix'
  | 'ca'
  | 'proxy'
  | 'noProxy'
  | 'connectTimeoutMs'
  | 'resolve'
  | 'connectOverride'
>;

interface Contact {
  readonly origin: string;
  readonly finding: Finding;
  /** Whether the address guard refuses the host's address. */
  readonly isBlocked?: boolean;
  /** The push service's clock minus ours; absent if the push service did not respond. */
  readonly clockDifferenceMs?: number | undefined;
}

export async function checkNetwork(options: NetworkOptions): Promise<readonly Finding[]> {
  const { pushServices = [] } = options;
  const named = [pushServices].flat().filter((entry) => entry !== 'public' && !entry.includes('*'));
  const contacts = await Promise.all(
    [...vendorOrigins, ...named].map((origin) => contactOf(origin, options)),
  );
  const times = contacts.flatMap(({ origin, clockDifferenceMs: differenceMs }) =>
    differenceMs === undefined ? [] : { host: new URL(origin).host, differenceMs },
  );
  return [
    { subject: 'proxy', ...checkProxy(options) },
    ...summarize(contacts),
    { subject: 'clock', ...checkClock(times) },
  ];
}

/** If the machine has no network, reports that once instead of for each host. */
function summarize(contacts: readonly Contact[]): readonly Finding[] {
  const reached = contacts.filter(({ finding }) => finding.status === 'ok');
  const vendors = contacts.filter(({ origin }) => vendorOrigins.includes(origin));
  if (vendors.some((vendor) => reached.includes(vendor))) return contacts.map(({ finding }) => finding);
  const others = contacts.filter((contact) => !vendors.includes(contact));
  const cures = new Set(vendors.map(({ finding }) => finding.cure));
  const areBlocked = vendors.every(({ isBlocked }) => isBlocked) && cures.size === 1;
  const offline: Finding = {
    subject: 'network',
    status: reached.length > 0 ? 'warning' : 'fault',
    detail: `no browser's push service can be reached: ${vendors[0]?.finding.detail}`,
    cure: areBlocked
      ? vendors[0]?.finding.cure
      : 'Check the network, name resolution (DNS), the firewall (outbound TCP 443) and the proxy (https_proxy).',
  };
  return [offline, ...others.map(({ finding }) => finding)];
}

function checkProxy({ proxy, noProxy = [] }: NetworkOptions): Outcome {
  if (proxy === undefined) return ok('none');
  const { hostname, port } = parseProxy(proxy);
  const except = noProxy.length === 0 ? '' : `, except for ${noProxy.join(', ')}`;
  return ok(`${hostname}:${port}${except}`);
}

async function contactOf(origin: string, options: NetworkOptions): Promise<Contact> {
  const url = new URL(origin);
  let isBlocked = false;
  const look = (): Promise<Outcome> =>
    connectTo(url, options).catch((error: unknown) => {
      isBlocked = error instanceof DeskbellError && error.code === 'ERR_ADDRESS_BLOCKED';
      throw error;
    });
  const finding = await findingOf(url.host, look);
  if (finding.status !== 'ok') return { origin, finding, isBlocked };
  return { origin, finding, clockDifferenceMs: await readServerTime(url, options).catch(() => undefined) };
}

/** Connects as the sender does, with the same guard, proxy, authorities and protocols. */
async function connectTo(url: URL, options: NetworkOptions): Promise<Outcome> {
  const startedMs = performance.now();
  const { socket, protocol } = await connect(url, readConnectSettings(options), new AbortController().signal);
  const tls = url.protocol === 'https:' ? `${(socket as TLSSocket).getProtocol()}, ` : '';
  socket.destroy();
  const tookMs = Math.round(performance.now() - startedMs);
  return ok(`${tls}${protocol}, connected in ${tookMs} ms`);
}

/** @returns the server's clock minus ours, in milliseconds; `undefined` if the response has no date */
async function readServerTime(url: URL, options: NetworkOptions): Promise<number | undefined> {
  const { connectTimeoutMs = defaultTimeouts.connectTimeoutMs } = options;
  const signal = AbortSignal.timeout(connectTimeoutMs);
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  const asked = request(url, { method: 'HEAD', signal, ...(await wayTo(url, options)) });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.resume();
  const theirMs = Date.parse(response.headers.date ?? '');
  return Number.isNaN(theirMs) ? undefined : theirMs - Date.now();
}

async function wayTo(url: URL, { ca, proxy, noProxy, connectOverride }: NetworkOptions): Promise<object> {
  const secureContext = createTrust(ca)();
  const override = connectOverride?.(url.origin);
  if (override !== undefined) {
    return { hostname: override.host, port: override.port, servername: url.hostname, secureContext };
  }
  if (proxy === undefined || isProxyBypassed(url.hostname, noProxy)) return { secureContext };
  const { HttpsProxyAgent } = await import('https-proxy-agent');
  return { agent: new HttpsProxyAgent(proxy), secureContext };
}

/** With less than `lowDiskSpaceBytes`, a broadcast may fill the disk. Below `minDiskSpaceBytes`, commits fail. */
const lowDiskSpaceBytes = 1e9;
const minDiskSpaceBytes = 50e6;

/** @param hasOnlyKeys whether the directory contains the keys but not the database */
async function checkDiskSpace(directory: string, hasOnlyKeys: boolean): Promise<Outcome> {
  if (isOnReadOnlyDisk(directory)) {
    return {
      status: hasOnlyKeys ? 'warning' : 'fault',
      detail: `its file system is read-only: ${hasOnlyKeys ? 'no key can be added' : 'nothing can be stored'}`,
      cure: 'Mount it writable. The system makes a faulty disk read-only: see the system log.',
    };
  }
  const { bavail, bsize } = await statfs(directory);
  return describeDiskSpace(bavail * bsize);
}

export function describeDiskSpace(bytes: number): Outcome {
  const detail = `${formatBytes(bytes)} free`;
  if (bytes >= lowDiskSpaceBytes) return ok(detail);
  return {
    status: bytes < minDiskSpaceBytes ? 'fault' : 'warning',
    detail,
    cure: 'Free some space. Sending stops while the disk is full, and continues when there is space.',
  };
}

/** If the directory is missing, nothing else is checked. */
export async function checkData(directory: string, url: string | undefined): Promise<readonly Finding[]> {
  const rights = await findingOf('data directory', () => checkRights(directory));
  if (!existsSync(directory)) return [rights];
  let content: DatabaseContent | undefined;
  const database = await findingOf('database', async () => {
    if (url !== undefined) {
      const { inspectDatabase: inspectPostgres } = await import('../../store/postgres/preflight.ts');
      const inspected = await inspectPostgres(url);
      ({ content } = inspected);
      return describePostgres(inspected, describeUrl(url));
    }
    const path = databasePathOf(directory);
    if (!existsSync(path)) return noDatabase;
    const inspected = await inspectDatabase(path);
    ({ content } = inspected);
    return describeDatabase(inspected, path);
  });
  const keys = await findingOf('keys', () => checkKeys(directory, content));
  const disk = await findingOf('disk', () => checkDiskSpace(directory, url !== undefined));
  return [
    rights,
    disk,
    database,
    keys,
    ...(content === undefined
      ? []
      : [
          { subject: 'sending', ...describeSending(content) },
          { subject: 'workers', ...describeWorkers(content) },
          ...describeBells(content),
        ]),
    ...(url === undefined && content !== undefined
      ? [{ subject: 'backup', ...(await describeBackup(directory)) }]
      : []),
  ];
}

/** @param subject the configured contact for push services */
export function checkSubject(subject: string | undefined): Outcome {
  if (subject === undefined) {
    return warning(
      'there is none, and sending needs one',
      `Set ${variableOf('subject')} (or --subject, or "subject" in the configuration file) to a mailto: or https: URI.`,
    );
  }
  const fault = findAppleSubjectFault(subject);
  if (fault === undefined) return ok(subject);
  return warning(fault, 'Give a contact at a domain of yours; until then nothing is sent to Safari.');
}

const noDatabase = warning(
  'there is none yet',
  '"deskbell serve" creates it when it first starts. If there was one, restore it with "deskbell restore".',
);

async function checkRights(directory: string): Promise<Outcome> {
  await requireData(directory);
  await checkSecrets(directory);
  return ok(directory);
}

const describeDatabase = ({ schema, newestSchema }: DatabaseState, path: string): Outcome =>
  schema === newestSchema
    ? ok(`whole, schema ${schema}`)
    : warning(`${path} is whole and has ${describeAge(schema, newestSchema)}`, migrationCure);

const describeAge = (schema: number, newest: number): string =>
  `schema ${schema} of ${newest}: an older Deskbell made it`;

const migrationCure =
  'The next command or start migrates it. An older Deskbell cannot open it after that: back it up before.';

function describePostgres(state: PostgresState, label: string): Outcome {
  const { schema, newestSchema, warnings } = state;
  const [warned] = warnings;
  if (warned !== undefined) return warning(warned, 'Synchronize the clocks of both machines.');
  if (schema === 0) return warning(`${label} has no tables of Deskbell yet`, migrationCure);
  if (schema !== newestSchema)
    return warning(`${label} has ${describeAge(schema, newestSchema)}`, migrationCure);
  return ok(`${label}, schema ${schema}`);
}

async function checkKeys(directory: string, content: DatabaseContent | undefined): Promise<Outcome> {
  const ring = await readKeyRing(directory);
  const { keys = [], subscriptions = new Map<string, number>() } = content ?? {};
  const missing = describeMissingKeys(keys, subscriptions, ring, directory);
  if (missing !== undefined) return { status: 'fault', detail: missing, cure: missingKeysRemedy };
  const current = keys.find(({ state }) => state === 'current') ?? ring[0];
  const pairs = countOf(ring.length, 'VAPID pair');
  return ok(`${pairs}, current ${current?.publicKey}`);
}

async function describeBackup(directory: string): Promise<Outcome> {
  const atMs = await readLastBackup(directory);
  return ok(atMs === undefined ? 'none was made yet' : `the last one ended at ${isoTime(atMs)}`);
}

const describeSending = ({ pause }: DatabaseContent): Outcome =>
  pause === undefined ? ok('not paused') : warning(describePause(pause), pauseRemedy);

const describeWorkers = ({ workers }: DatabaseContent): Outcome =>
  ok(
    workers === 0
      ? 'none delivers now: "deskbell serve --deliver" and "deskbell worker" do'
      : countOf(workers, 'worker'),
  );

const describeBells = ({ unheardBells }: DatabaseContent): readonly Finding[] =>
  unheardBells.length === 0
    ? []
    : [
        {
          subject: 'bells',
          ...warning(
            `the newest message reached nobody: ${unheardBells.join(', ')}`,
            '"deskbell bells show" tells whom it rings; "deskbell invite" subscribes a browser as a user.',
          ),
        },
      ];
