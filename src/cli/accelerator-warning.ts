// Warns that messages are encrypted without the accelerator, where that matters: for a large broadcast, once.
import { loadAccelerator, type Accelerator } from '../accelerator/load-accelerator.ts';
import type { Broadcast } from '../store/broadcasts.ts';

/** A smaller broadcast takes about a second of processor time at most, with the accelerator or without. */
const largeAudience = 10_000;

/** @returns a function that takes each broadcast which this process delivers */
export function createAcceleratorWarning(
  warn: (text: string) => void,
  load: () => Pick<Accelerator, 'reason'> = loadAccelerator,
): (broadcast: Pick<Broadcast, 'audience'>) => void {
  let isChecked = false;
  return ({ audience }) => {
    if (isChecked || audience < largeAudience) return;
    isChecked = true;
    const { reason } = load();
    if (reason !== undefined) warn(reason);
  };
}
