// The child process of `check-in-child.ts`: loads the given addon and prints the first fault, if there is one.
import { loadAddon } from './addon.ts';
import { findFault } from './self-check.ts';

const [, , file = ''] = process.argv;
try {
  process.stdout.write(findFault(loadAddon(file)) ?? '');
} catch (error) {
  process.stdout.write(`it cannot be loaded: ${(error as Error).message.split('\n', 1)[0]}`);
}
