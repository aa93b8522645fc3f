// The process that `check-in-child.ts` starts: loads the addon that it is given and prints the fault that it finds, if
// any.
import { loadAddon } from './addon.ts';
import { findFault } from './self-check.ts';

const [, , file = ''] = process.argv;
try {
  process.stdout.write(findFault(loadAddon(file)) ?? '');
} catch (error) {
  process.stdout.write(`it cannot be loaded: ${(error as Error).message.split('\n', 1)[0]}`);
}
