// What another process uses, as Linux tells it; `undefined` elsewhere.
import { readFile } from 'node:fs/promises';

/** Clock ticks per second in /proc: fixed at 100 for user space on Linux. */
const ticksPerSecond = 100;

/** CPU time of all threads since the start, to 10 ms. */
export async function cpuSecondsOf(pid: number): Promise<number | undefined> {
  const fields = await statFieldsOf(pid);
  return fields && (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** The same of the process and all of its children, those that have ended included. */
export async function cpuSecondsOfFamily(pid: number): Promise<number | undefined> {
  const own = await cpuSecondsOf(pid);
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => undefined);
  if (own === undefined || children === undefined) return undefined;
  const living = await Promise.all(
    children
      .trim()
      .split(' ')
      .map((child) => cpuSecondsOf(Number(child))),
  );
  // read after them: who ends in the meantime is counted twice rather than not at all
  const fields = (await statFieldsOf(pid)) ?? [];
  const ended = (Number(fields[13]) + Number(fields[14])) / ticksPerSecond;
  return living.reduce<number>((sum, seconds) => sum + (seconds ?? 0), own + ended);
}

/** The fields behind the command's name. */
async function statFieldsOf(pid: number): Promise<readonly string[] | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // The second field is the command's name in parentheses, and may hold anything.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

export async function residentMegabytesOf(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
}
