// Ports, and programs that listen on them.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { until } from './until.ts';

/** Below those that the system gives to whoever asks for any (port 0): nobody gets one of these by chance. */
const [firstPort, portsOfProcess, processes] = [20_000, 40, 250];
let portsGiven = 0;

/**
 * A port that nobody listens on, for programs that cannot pick one themselves, and for those who close theirs for a while.
 * This process gives it to nobody else before forty others.
 *
 * @throws {Error} all forty are taken
 */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < portsOfProcess; tried += 1) {
    const port = firstPort + (process.pid % processes) * portsOfProcess + (portsGiven++ % portsOfProcess);
    const server = createServer();
    try {
      await once(server.listen(port, '127.0.0.1'), 'listening');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue;
      throw error;
    }
    server.close();
    await once(server, 'close');
    return port;
  }
  throw new Error(`Each of the ${portsOfProcess} ports that this process may use is taken.`);
}

const claimedPorts = new Set<number>();

/**
 * The port that a server listens on; undefined if another of this process had it before and claimed it. What a browser
 * keeps of an origin outlives its server, and among sixty ports that Linux picks one after the other, two are the same in every
 * fifth series.
 */
export function claimPort(server: Server): number | undefined {
  const { port } = server.address() as AddressInfo;
  if (claimedPorts.has(port)) return undefined;
  claimedPorts.add(port);
  return port;
}

/** Listens on 127.0.0.1, on a port that nobody in this process has claimed. */
export async function listenOnNewPort(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const port = claimPort(server);
  if (port !== undefined) return port;
  await once(server.close(), 'close');
  return listenOnNewPort(server);
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
