// Ports, and programs that listen on them.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { until } from './until.ts';

/** A port that was free a moment ago, for programs that cannot pick one themselves. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** @throws {Error} the program has ended, or takes too long */
export async function untilListening(program: ChildProcess, port: number): Promise<void> {
  await until(async () => {
    const hasEnded = program.exitCode !== null || program.signalCode !== null;
    if (hasEnded) throw new Error(`${program.spawnfile} did not start.`);
    return accepts(port);
  }, `${program.spawnfile} to listen`);
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
