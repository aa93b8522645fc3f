// Opens the operator's listener from the configuration.
import { createHmac, hkdfSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Sender } from '../delivery/sender.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { TlsFiles } from '../http/create-http-server.ts';
import type { Log } from '../http/log.ts';
import type { Configuration, SettingName } from './configuration.ts';
import type { DataDirectory } from './data-directory.ts';
import { parseListenAddress, type ListenAddress } from './listen-address.ts';
import { addressOf, listenOn } from './listening.ts';

/** The configuration entries of the operator's listener. */
export const operatorSettings = [
  'operator',
  'operatorCert',
  'operatorKey',
  'operatorBehindProxy',
  'operatorHosts',
] as const satisfies readonly SettingName[];

export interface OpenOperator {
  readonly app: FastifyInstance;
  /** With scheme and port. */
  readonly address: string;
}

export interface OperatorAccess {
  readonly tls: TlsFiles | undefined;
  readonly isBehindProxy: boolean;
  readonly hosts: readonly string[];
}

/**
 * @returns `undefined` where no operator's listener is asked for
 * @throws {DeskbellError} ERR_CONFIGURATION, ERR_FILE, ERR_LISTEN
 */
export async function openConfiguredOperator(
  configuration: Pick<Configuration, (typeof operatorSettings)[number]>,
  data: Pick<DataDirectory, 'store' | 'sessionKey'>,
  sender: Sender,
  log: Log,
): Promise<OpenOperator | undefined> {
  const { operator, operatorBehindProxy: isBehindProxy, operatorHosts: hosts } = configuration;
  if (operator === undefined) return undefined;
  const access = { isBehindProxy, hosts, tls: await readTls(configuration) };
  return openOperator(parseListenAddress(operator), access, data, sender, log);
}

/** @throws {DeskbellError} ERR_CONFIGURATION, ERR_LISTEN */
export async function openOperator(
  { host, port }: ListenAddress,
  access: OperatorAccess,
  { store, sessionKey }: Pick<DataDirectory, 'store' | 'sessionKey'>,
  sender: Sender,
  log: Log,
): Promise<OpenOperator> {
  const { createOperator } = await import('../operator/create-operator.ts');
  const hashPerson = createPersonHash(sessionKey);
  const app = createOperator({ ...access, store, sender, log, host, port, hashPerson });
  await listenOn({ host, port }, () => app.listen({ host, port }));
  const address = addressOf(host, (app.server.address() as AddressInfo).port);
  return { app, address: access.tls === undefined ? address : address.replace(/^http/, 'https') };
}

async function readTls({
  operatorCert,
  operatorKey,
}: Pick<Configuration, 'operatorCert' | 'operatorKey'>): Promise<TlsFiles | undefined> {
  if (operatorCert === undefined && operatorKey === undefined) return undefined;
  if (operatorCert === undefined || operatorKey === undefined) {
    throw new DeskbellError('ERR_CONFIGURATION', 'Give both --operator-cert and --operator-key, or neither');
  }
  return { cert: await readPem(operatorCert), key: await readPem(operatorKey) };
}

async function readPem(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new DeskbellError('ERR_FILE', `${path} cannot be read`, { cause });
  }
}

/** The key is made from the installation's own, so that nobody else can try ids out. */
function createPersonHash(sessionKey: Uint8Array): (user: string) => string {
  const key = Buffer.from(hkdfSync('sha256', sessionKey, '', 'deskbell audit of people', 32));
  return (user) => createHmac('sha256', key).update(user).digest('base64url').slice(0, 22);
}
