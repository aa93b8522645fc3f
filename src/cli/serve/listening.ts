// Shared by commands that serve: listening on a port with clear errors, and running until the process is told to stop.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Context } from '../command.ts';
import type { ListenAddress } from '../configuration/addresses.ts';

/** Starts listening. @returns the address, as `addressOf` gives it. @throws {DeskbellError} ERR_LISTEN */
export async function listenAt(app: FastifyInstance, where: ListenAddress, flag: string): Promise<string> {
  const { host, port } = where;
  await listenOn(where, flag, () => app.listen({ host, port }));
  return addressOf(host, (app.server.address() as AddressInfo).port);
}

/**
 * Runs `open`, which listens on `host` and `port`.
 *
 * @param flag the port's flag, which the error names
 * @throws {DeskbellError} ERR_LISTEN
 */
export async function listenOn<Result>(
  { host, port }: ListenAddress,
  flag: string,
  open: () => Promise<Result>,
): Promise<Result> {
  try {
    return await open();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).syscall === undefined) throw cause;
    throw new DeskbellError('ERR_LISTEN', `Cannot listen on ${host} port ${port} (${flag})`, { cause });
  }
}

/** Resolves when `stop` is aborted, for whatever reason. */
export async function untilStopped(stop: AbortSignal): Promise<void> {
  if (!stop.aborted) await once(stop, 'abort');
}

/** Ignores SIGHUP in a service that has nothing to reload. On a terminal, SIGHUP still ends the service. */
export function ignoreHangup({ output, onHangup }: Pick<Context, 'output' | 'onHangup'>): void {
  if (!output.isTerminal) onHangup(() => {});
}

/** Formats an address, such as `http://127.0.0.1:8080`. */
export function addressOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
