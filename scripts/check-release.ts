// Run before a publish (`npm run check:release`): the package must carry the accelerator, or everybody who installs it
// encrypts with Node's builtins. It asks for the file for linux-x64 with the multi-buffer library, checks those that this
// machine can load, and prints the hash of each.
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { addonFile } from '../src/accelerator/addon-file.ts';
import { loadAccelerator } from '../src/accelerator/load-accelerator.ts';

/** Without these nothing is published. Others are made by the release workflow, and are unverified until somebody runs it. */
const required = [
  'linux-x64/accelerator-openssl3.node',
  'linux-x64/LICENSE.crypto_mb.txt', // the build puts it there with the library
];
const wanted = ['linux-x64-musl/accelerator-openssl3.node', 'linux-arm64/accelerator-openssl3.node'];

if (import.meta.main) {
  const prebuilds = join(import.meta.dirname, '../prebuilds');
  for (const file of globSync('*/*.node', { cwd: prebuilds }).sort()) {
    const hash = createHash('sha256')
      .update(readFileSync(join(prebuilds, file)))
      .digest('hex');
    console.log(`${hash}  ${file}`);
  }
  for (const file of wanted.filter((name) => !existsSync(join(prebuilds, name)))) {
    console.log(`without ${file}: the release workflow makes it`);
  }
  const faults = findReleaseFaults(prebuilds, addonFile());
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

/**
 * What keeps the package from being published, in sentences.
 *
 * @param own the addon for this machine, which is checked where it is there
 */
export function findReleaseFaults(prebuilds: string, own: string): readonly string[] {
  const missing = required.filter((name) => !existsSync(join(prebuilds, name)));
  const faults = missing.map((name) => `prebuilds/${name} is missing: "npm run build:accelerator" makes it.`);
  const { reason } = existsSync(own) ? loadAccelerator({ file: own }) : {};
  return reason === undefined ? faults : [...faults, reason];
}
