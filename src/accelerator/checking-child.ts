// The process that `check-in-child.ts` starts: loads the addon that it is given and prints the fault that it finds, if
// any.
import { createRequire } from 'node:module';

import type { Addon } from './addon.ts';
import { findFault } from './self-check.ts';

const [, , file = ''] = process.argv;
try {
  process.stdout.write(findFault(createRequire(import.meta.url)(file) as Addon) ?? '');
} catch (error) {
  process.stdout.write(`it cannot be loaded: ${(error as Error).message.split('\n', 1)[0]}`);
}
