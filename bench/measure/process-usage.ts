// What another process uses, as Linux tells it; `undefined` elsewhere.
import { readFile } from 'node:fs/promises';

/** Clock ticks per second in /proc: fixed at 100 for user space on Linux. */
const ticksPerSecond = 100;

/** CPU time of all threads since the start, to 10 ms. */
export async function cpuSecondsOf(pid: number): Promise<number | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // The second field is the command's name in parentheses, and may hold anything.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields && (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

export async function residentMegabytesOf(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
}
