// Processor time, in microseconds, of this process with all its threads: it does not grow where the machine has other work.

/** The processor time that something takes this once. */
export async function cpuOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** The least that something takes, of several times. */
export async function leastOf(times: number, cpu: () => Promise<number>): Promise<number> {
  let least = Infinity;
  for (let time = 0; time < times; time += 1) least = Math.min(least, await cpu());
  return least;
}

const texts = new Map<number, string>();

/** What JSON.parse takes this once for a valid array of one-digit numbers of so many bytes. */
export function cpuOfParse(bytes: number): Promise<number> {
  const text = texts.get(bytes) ?? `[${'1,'.repeat(Math.max(0, Math.floor((bytes - 3) / 2)))}1]`;
  texts.set(bytes, text);
  return cpuOf(() => void JSON.parse(text));
}
