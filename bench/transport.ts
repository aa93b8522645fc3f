// What carrying a message costs without encrypting it: the transport next to Node's own clients, over TLS to nginx on
// this machine. Every run is a fresh process, all in turns; what counts is the ratio within a round, and the A/A row
// says how far to trust it. Then the rate over a way of 50 ms, next to the same way without delay, for a thread that
// spends as long on each message as encrypting takes.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatSpread, spreadOf } from './measure/statistics.ts';
import { printTable } from './measure/table.ts';
import { roundTripMs, startPushServices } from './send/push-services.ts';
import type { ClientName, Order } from './transport/clients.ts';
import type { Cost } from './transport/posting-process.ts';

interface Row {
  readonly name: string;
  readonly order: Order;
  readonly costs: Cost[];
}

const inHand = 256;
const inHandFarAway = 2000;
/** What encrypting a message costs at the least, see the EC limit of `npm run bench -- send`. */
const encryptingMicroseconds = 62;
/** Nothing is sent to the place for samples of the push services. */
const noSamples = 1;

export async function bench({ quick }: { readonly quick: boolean }): Promise<void> {
  const rounds = quick ? 3 : 7;
  const requests = quick ? 50_000 : 200_000;
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-bench-'));
  const services = await startPushServices(folder, noSamples);
  const undelayed = fork(join(import.meta.dirname, 'send/delay.ts'), [new URL(services.near).port, '0']);
  try {
    const [port] = (await once(undelayed, 'message')) as [number];
    const certificate = await readFile(services.certificatePath, 'utf8');
    const row = (name: string, client: ClientName, origin: string, count = requests): Row => {
      const order = { client, origin, certificate, requests: count, inHand, workMicroseconds: 0 };
      return { name, order, costs: [] };
    };
    const costs: Row[] = [
      row('Deskbell', 'deskbell', services.near),
      row('Deskbell again (A/A)', 'deskbell', services.near),
      row('Deskbell, GOAWAY every 1000', 'deskbell', services.restless),
      row('node:http2', 'node:http2', services.near, requests / 4),
      row('node:https, 64 sockets', 'node:https', services.near, requests / 4),
    ];
    const ways: Row[] = [
      row('no delay', 'deskbell', `https://127.0.0.1:${port}`),
      row(`${roundTripMs} ms`, 'deskbell', services.far),
    ];
    for (let round = 0; round < rounds; round += 1) {
      for (const { order, costs: taken } of costs) taken.push(await measure(order));
      for (const { order, costs: taken } of ways) {
        const far = { inHand: inHandFarAway, workMicroseconds: encryptingMicroseconds };
        taken.push(await measure({ ...order, ...far }));
      }
    }
    printCosts(costs);
    printWays(ways);
  } finally {
    undelayed.kill();
    await services.stop();
    await rm(folder, { recursive: true });
  }
}

/** @throws {Error} where a request was not answered with 201 */
async function measure(order: Order): Promise<Cost> {
  const child: ChildProcess = fork(join(import.meta.dirname, 'transport/posting-process.ts'));
  child.send(order);
  const [cost] = (await once(child, 'message')) as [Cost];
  await once(child, 'exit');
  if (cost.failed > 0)
    throw new Error(`${cost.failed} requests of ${order.client} were not answered with 201.`);
  return cost;
}

function printCosts(rows: readonly Row[]): void {
  const [baseline] = rows;
  const lines = rows.map(({ name, costs }) => {
    const times = costs.map(
      ({ cpuMicroseconds }, round) =>
        cpuMicroseconds / (baseline?.costs[round]?.cpuMicroseconds ?? Number.NaN),
    );
    return [
      name,
      formatSpread(spreadOf(costs.map(({ cpuMicroseconds }) => cpuMicroseconds)), 1),
      formatSpread(spreadOf(times), 2),
      spreadOf(costs.map(({ perSecond }) => perSecond)).median.toFixed(0),
      spreadOf(costs.map(({ megabytes }) => megabytes)).median.toFixed(0),
    ];
  });
  const head = ['client', 'CPU µs', 'times Deskbell', 'per second', 'MB'];
  printTable('Transport alone: CPU time per request, medians (range)', [head, ...lines]);
}

function printWays(rows: readonly Row[]): void {
  const [near] = rows;
  const lines = rows.map(({ name, costs }) => {
    const shares = costs.map(
      ({ perSecond }, round) => perSecond / (near?.costs[round]?.perSecond ?? Number.NaN),
    );
    return [
      name,
      spreadOf(costs.map(({ perSecond }) => perSecond)).median.toFixed(0),
      formatSpread(spreadOf(shares), 2),
      formatSpread(spreadOf(costs.map(({ busyShare }) => busyShare)), 2),
    ];
  });
  const head = ['way', 'per second', 'share', 'thread busy'];
  printTable(`Transport, ${encryptingMicroseconds} µs of work for each request, through a relay`, [
    head,
    ...lines,
  ]);
}
