// What sending costs: Deskbell next to the senders of npm, each run in a fresh process, all in turns, with nginx on
// this machine as the push service. The key figure is the sender's CPU time per message that was answered with 201;
// what counts is the ratio within a round, and the A/A row says how far to trust it.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { generateVapidKeys } from '../src/index.ts';
import { drawChart } from './send/chart.ts';
import { measureEcLimits, measureEcScaling } from './send/ec-limit.ts';
import { listEntrants, sizes, type EntrantId, type Entrants, type Size } from './send/entrants.ts';
import { measure, type Place } from './send/measure.ts';
import { installPackages, type Packages } from './send/packages.ts';
import { startPushServices, type PushServices } from './send/push-services.ts';
import { printCosts, printServiceCosts, printSpeeds, printTwoThreadBound } from './send/report.ts';
import { Results, slopeOf } from './send/results.ts';
import { startSampleReader } from './send/sample-reader.ts';
import { makeSubscribers, writeWorkload, type Workload } from './send/workload.ts';

const chartPath = join(import.meta.dirname, '../docs/images/send-chart.svg');
const busyShare = 0.1;

export async function bench({ quick }: { readonly quick: boolean }): Promise<void> {
  const size: Size = quick ? sizes.quick : sizes.full;
  console.log(`Sending, ${size.rounds} rounds: takes about ${quick ? '2' : '15'} minutes.\n`);
  await warnOfOthers();
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-bench-'));
  const subscribers = makeSubscribers(size.broadcast);
  const sampleReader = await startSampleReader(subscribers);
  let pushServices: PushServices | undefined;
  try {
    const packages = await installPackages(folder);
    pushServices = await startPushServices(folder, sampleReader.port);
    const vapid = { ...generateVapidKeys(), subject: 'mailto:bench@example.org' };
    const place: Place = { folder, vapid, pushServices, sampleReader };
    const write = (origin: string, count = subscribers.length): Promise<Workload> =>
      writeWorkload(folder, origin, subscribers.slice(0, count), vapid.publicKey);
    await checkRestless(place, packages, await write(pushServices.restless, size.restless));

    const workloads = {
      near: await write(pushServices.near),
      nearSlower: await write(pushServices.near, size.slower),
      nearShort: await write(pushServices.near, size.short),
      relayed: await write(pushServices.relayed),
      far: await write(pushServices.far),
    };
    const entrants = await listEntrants(size, packages, pushServices, workloads);
    const results = await takeTurns(size.rounds, entrants, place);
    printCosts(results, entrants);
    printSpeeds(results, entrants);
    printTwoThreadBound(results, cpus().length);
    printServiceCosts(results);
    if (quick) return;
    await writeFile(chartPath, drawChart(results, entrants));
    console.log(`The chart is in ${chartPath}.\n`);
  } finally {
    await pushServices?.stop();
    await sampleReader.stop();
    await rm(folder, { recursive: true });
  }
}

/** Connections that end all the time must lose nothing and repeat nothing; `measure` sees to it. */
async function checkRestless(
  place: Place,
  { accelerated, builtin }: Packages,
  workload: Workload,
): Promise<void> {
  const origin = place.pushServices.restless;
  const packageFolder = accelerated ?? builtin;
  await measure(
    { sender: 'deskbell broadcast', packageFolder, origin, inFlight: 0, threads: 2, workload },
    place,
  );
  console.log(
    `${workload.count} messages over connections that end after 1000 requests: each arrived, once.\n`,
  );
}

async function takeTurns(rounds: number, entrants: Entrants, place: Place): Promise<Results> {
  const results = new Results();
  for (let round = 1; round <= rounds; round += 1) {
    for (const [id, { label, run, shorter }] of Object.entries(entrants)) {
      if (id === 'broadcast accelerated') {
        results.ecLimits.push(await measureEcLimits());
        results.ecScalings.push(await measureEcScaling());
      }
      const measured = await measure(run, place);
      results.add(id as EntrantId, measured);
      if (shorter !== undefined) {
        const less = { ...(await measure(shorter, place)), messages: shorter.workload.count };
        results.addSlope(id as EntrantId, slopeOf(less, { ...measured, messages: run.workload.count }));
      }
      const { cpuMicroseconds, perSecond } = measured;
      console.log(
        `round ${round}: ${label}: ${cpuMicroseconds.toFixed(1)} µs, ${perSecond.toFixed(0)} per second`,
      );
    }
  }
  console.log('');
  return results;
}

async function warnOfOthers(): Promise<void> {
  const before = coreMilliseconds();
  await sleep(1000);
  const after = coreMilliseconds();
  const busy = 1 - (after.idle - before.idle) / (after.all - before.all);
  if (busy < busyShare) return;
  console.log(
    `Other programs take ${(busy * 100).toFixed(0)} % of this machine now: expect figures that scatter.\n`,
  );
}

function coreMilliseconds(): { readonly idle: number; readonly all: number } {
  const times = cpus().map((core) => core.times);
  const idle = times.reduce((sum, core) => sum + core.idle, 0);
  const all = times.reduce((sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq, idle);
  return { idle, all };
}
