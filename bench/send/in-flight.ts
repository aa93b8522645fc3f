// Sends one message after the other to a list of subscriptions, so many at a time.
import { readFile } from 'node:fs/promises';
import type { Job } from './job.ts';
import type { ListedSubscription } from './message.ts';

export interface Prepared {
  /** @returns how many messages were answered with 201 */
  send(): Promise<number>;
  close(): Promise<void>;
}

/** @returns the status */
export type SendOne = (subscription: ListedSubscription) => Promise<number | undefined>;

export async function readList({ listPath, count }: Job): Promise<readonly ListedSubscription[]> {
  const lines = (await readFile(listPath, 'utf8')).split('\n', count);
  return lines.map((line) => JSON.parse(line) as ListedSubscription);
}

export async function sendInFlight(
  list: readonly ListedSubscription[],
  inFlight: number,
  sendOne: SendOne,
): Promise<number> {
  let next = 0;
  let accepted = 0;
  const lane = async (): Promise<void> => {
    for (;;) {
      const subscription = list[next];
      next += 1;
      if (subscription === undefined) return;
      if ((await sendOne(subscription)) === 201) accepted += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  return accepted;
}
