// Registrations over HTTP, each on the disk before it is answered, with SQLite and with PostgreSQL in turns.
import { fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseServer } from '../broadcast/measure-broadcast.ts';
import { formatSpread, spreadOf } from '../measure/statistics.ts';
import { printTable } from '../measure/table.ts';
import { measureLoad, type MeasuredLoad } from '../service/measure-load.ts';
import { startDeskbell, type Server } from '../service/servers.ts';

const connections = 64;
const warmUpMs = 2000;
const windowMs = 3000;
const goalPerSecond = 5000;

interface Service {
  readonly name: string;
  readonly server: Server;
  readonly database: DatabaseServer | undefined;
  readonly measured: Measured[];
}

interface Measured extends MeasuredLoad {
  readonly databaseCpuMicroseconds: number;
}

/** @param database empty */
export async function benchRegistrations(database: DatabaseServer, rounds: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-registrations-'));
  const generator = fork(join(import.meta.dirname, '../service/load.ts'));
  const flags = ['--logging', '', '--registrations-per-minute', 'off', '--log-file', join(folder, 'log')];
  const start = async (name: string, ofService: DatabaseServer | undefined): Promise<Service> => {
    const further = ofService === undefined ? [] : ['--database', ofService.url];
    const server = await startDeskbell(join(folder, name), ...flags, ...further);
    return { name, server, database: ofService, measured: [] };
  };
  const measure = async ({ server, database: used }: Service, durationMs: number): Promise<Measured> => {
    const before = await used?.cpuSeconds();
    const order = { method: 'POST', path: '/webPush', connections, durationMs } as const;
    const measured = await measureLoad(generator, server, order);
    const seconds = ((await used?.cpuSeconds()) ?? Number.NaN) - (before ?? Number.NaN);
    return { ...measured, databaseCpuMicroseconds: (seconds * 1e6) / measured.requests };
  };
  const services: Service[] = [];
  try {
    services.push(await start('SQLite', undefined), await start('PostgreSQL', database));
    for (const service of services) await measure(service, warmUpMs);
    for (let round = 0; round < rounds; round += 1) {
      for (const service of services) service.measured.push(await measure(service, windowMs));
    }
  } finally {
    for (const { server } of services) await server.stop();
    generator.kill();
    await rm(folder, { recursive: true });
  }
  print(services, rounds);
}

function print(services: readonly Service[], rounds: number): void {
  const spread = ({ measured }: Service, figure: keyof Measured, digits: number): string =>
    formatSpread(spreadOf(measured.map((each) => each[figure])), digits);
  printTable(`Registrations over HTTP, ${connections} connections, medians of ${rounds} rounds (range)`, [
    ['database', 'per second', 'goal', 'CPU µs of the service', 'of PostgreSQL', 'p99 ms'],
    ...services.map((service) => [
      service.name,
      spread(service, 'perSecond', 0),
      service.database === undefined ? '' : String(goalPerSecond),
      spread(service, 'cpuMicroseconds', 0),
      service.database === undefined ? '' : spread(service, 'databaseCpuMicroseconds', 0),
      spread(service, 'p99Ms', 1),
    ]),
  ]);
}
