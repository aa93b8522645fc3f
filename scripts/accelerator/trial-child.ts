// Run by a Node of another platform (other-machines.ts): prints which accelerator of a folder it takes, and what came of it.
import { addonFile, describePlatform } from '../../src/accelerator/addon-file.ts';
import { loadAccelerator } from '../../src/accelerator/load-accelerator.ts';

const [, , command, folder, cacheFolder] = process.argv;
// The check starts this Node once more, for which it needs its emulator or loader again.
process.execPath = command!;
const { method, reason } = loadAccelerator({ file: addonFile(folder), cacheFolder });
process.stdout.write(JSON.stringify({ platform: describePlatform(), node: process.version, method, reason }));
