// Opens the operator's listener from the configuration.
import { X509Certificate } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { TlsFiles } from '../../http/create-http-server.ts';
import type { Log } from '../../http/log.ts';
import { loadOrCreateSecret } from '../../keys/secret-files.ts';
import type { ListenerOptions, OperatorOptions } from '../../operator/create-operator.ts';
import type { MachineFigures } from '../../operator/metrics/definitions.ts';
import { parseWebhookUrl } from '../../operator/webhook/webhook-target.ts';
import type { Context } from '../command.ts';
import { parseListenAddress } from '../configuration/addresses.ts';
import type { Configuration } from '../configuration/configuration.ts';
import { createPersonHash } from '../data/data-command.ts';
import type { DataDirectory } from '../data/data-directory.ts';
import { readLastBackup } from '../data/noted-facts.ts';
import { readTextFile } from '../input/read-input.ts';
import { readCertificates } from '../send/open-sender.ts';
import { listenAt } from './listening.ts';

type Configured = Pick<Configuration, 'data' | 'database' | 'maxSubscriptions'>;

/**
 * @param certificate the certificate chain of the operator's listener, as PEM, with the listener's own certificate
 *   first
 * @returns a function that reads the current figures; figures that cannot be read are absent
 */
export function machineFiguresReader(
  { data, database, maxSubscriptions }: Configured,
  certificate: string | undefined,
): () => Promise<MachineFigures> {
  const certificateEndsAtMs =
    certificate === undefined ? undefined : new X509Certificate(certificate).validToDate.getTime();
  return async () => {
    const [disk, backedUpAtMs] = await Promise.all([
      statfs(data).catch(() => undefined),
      readLastBackup(data),
    ]);
    return {
      disk: disk && { freeBytes: disk.bavail * disk.bsize, sizeBytes: disk.blocks * disk.bsize },
      subscriptionLimit: maxSubscriptions,
      certificateEndsAtMs,
      // PostgreSQL is backed up by other tools
      lastBackupAtMs: database === undefined ? (backedUpAtMs ?? 0) : undefined,
    };
  };
}

export type OpenOperator = Awaited<ReturnType<typeof listen>>;

/** What a listener needs to handle requests. */
export type ListenerParts = Pick<
  OperatorOptions,
  'sender' | 'metrics' | 'log' | 'readWarnings' | 'defaultTitle' | 'bellsPerMinute' | 'bellsUrl'
>;

export type ListenerAccess = Omit<ListenerOptions, 'store' | 'log'>;

/** @throws {DeskbellError} ERR_CONFIGURATION for settings that have no effect without a listener */
export function assertListenerIsAskedFor({ operator, webhook }: Configuration): void {
  if (webhook === undefined || operator !== undefined) return;
  throw new DeskbellError(
    'ERR_CONFIGURATION',
    'A webhook belongs to the operator’s listener: give --operator too',
  );
}

/** @returns `undefined` if no webhook is configured. @throws {DeskbellError} ERR_CONFIGURATION, ERR_FILE */
export async function openWebhook(
  { webhook, ca, connectTimeoutMs }: Configuration,
  { store, vapidKeys }: Pick<DataDirectory, 'store' | 'vapidKeys'>,
  log: Log,
  environment: Context['environment'],
) {
  if (webhook === undefined) return undefined;
  const { startWebhook } = await import('../../operator/webhook/post-events.ts');
  const { proxyFromEnvironment } = await import('../../transport/proxy.ts');
  return startWebhook({
    store,
    log,
    target: parseWebhookUrl(webhook),
    secret: await loadOrCreateSecret(vapidKeys.keyDirectory, 'webhook-secret'),
    transport: { ca: await readCertificates(ca), connectTimeoutMs, ...proxyFromEnvironment(environment) },
  });
}

/**
 * Opens a listener with `/metrics` alone.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION, ERR_LISTEN, ERR_METRICS_PACKAGE
 */
export async function openMetricsListener(
  access: ListenerAccess,
  parts: Pick<OperatorOptions, 'store' | 'metrics' | 'log'>,
): Promise<OpenOperator> {
  const { createMetricsListener } = await import('../../operator/create-operator.ts');
  const { loadClient } = await import('../../operator/metrics/metrics.ts');
  loadClient();
  return listen(createMetricsListener({ ...access, ...parts }), access, '--metrics');
}

/** Opens a listener that serves only bells. @throws {DeskbellError} ERR_CONFIGURATION, ERR_LISTEN */
export async function openBells(
  access: ListenerAccess,
  parts: Pick<OperatorOptions, 'store' | 'sender' | 'log' | 'bellsPerMinute'>,
): Promise<OpenOperator> {
  const { createBellsListener } = await import('../../operator/create-operator.ts');
  return listen(createBellsListener({ ...access, ...parts }), access, '--bells');
}

/** @throws {DeskbellError} ERR_CONFIGURATION, ERR_LISTEN */
export async function openOperator(
  access: ListenerAccess,
  { store, sessionKey }: Pick<DataDirectory, 'store' | 'sessionKey'>,
  parts: ListenerParts,
): Promise<OpenOperator> {
  const { createOperator } = await import('../../operator/create-operator.ts');
  const hashPerson = createPersonHash(sessionKey);
  return listen(createOperator({ ...access, ...parts, store, hashPerson }), access, '--operator');
}

async function listen(
  app: FastifyInstance,
  access: ListenerAccess,
  flag: '--operator' | '--metrics' | '--bells',
) {
  const address = await listenAt(app, access, flag);
  const close = (): Promise<void> => app.close();
  return {
    /** The URL, with scheme and port. */
    address: access.tls === undefined ? address : address.replace(/^http/, 'https'),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** @returns `undefined` if no listener is configured. @throws {DeskbellError} ERR_CONFIGURATION, ERR_FILE */
export async function readListenerAccess(
  where: string | undefined,
  configuration: Configuration,
): Promise<ListenerAccess | undefined> {
  if (where === undefined) return undefined;
  const { operatorBehindProxy: isBehindProxy, operatorHosts: hosts, trustProxy } = configuration;
  const address = parseListenAddress(where);
  return { ...address, isBehindProxy, hosts, trustProxy, tls: await readTls(configuration) };
}

async function readTls({ operatorCert, operatorKey }: Configuration): Promise<TlsFiles | undefined> {
  if (operatorCert === undefined && operatorKey === undefined) return undefined;
  if (operatorCert === undefined || operatorKey === undefined) {
    throw new DeskbellError('ERR_CONFIGURATION', 'Give both --operator-cert and --operator-key, or neither');
  }
  const files = { cert: await readTextFile(operatorCert), key: await readTextFile(operatorKey) };
  // `node:tls` is loaded only if a listener has a certificate
  const { createSecureContext } = await import('node:tls');
  try {
    createSecureContext(files);
  } catch (cause) {
    const detail = `${operatorCert} and ${operatorKey} are not a certificate and its private key, both in PEM`;
    throw new DeskbellError('ERR_CONFIGURATION', detail, { cause });
  }
  return files;
}
