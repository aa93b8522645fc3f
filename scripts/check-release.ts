// Run before a publish (`npm run check:release`): the package must carry the accelerators, or who installs it encrypts with
// Node's builtins; and nothing that nobody has run. Each is tried with a Node of its own platform; prints the size and
// the hash of each.
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { addonName } from '../src/accelerator/addon.ts';
import { releasePlatforms, type ReleasePlatform } from './accelerator/compile.ts';
import { emulation, tryAccelerator, type Trial } from './accelerator/other-machines.ts';
import { install } from './install-test-tools.ts';

if (import.meta.main) {
  const prebuilds = join(import.meta.dirname, '../prebuilds');
  for (const file of globSync('*/*.node', { cwd: prebuilds }).sort()) {
    const bytes = readFileSync(join(prebuilds, file));
    console.log(`${createHash('sha256').update(bytes).digest('hex')}  ${file}  ${bytes.length} bytes`);
  }
  await install('the accelerators of other machines', emulation);
  const faults = findReleaseFaults(prebuilds, (platform) => tryAccelerator(platform, prebuilds));
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

/**
 * What keeps the package from being published, in sentences.
 *
 * @param attempt lets a Node of the platform load its accelerator
 */
export function findReleaseFaults(
  prebuilds: string,
  attempt: (platform: ReleasePlatform) => Trial,
): readonly string[] {
  const wanted = releasePlatforms.map((platform) => `${platform}/${addonName()}`);
  const missing = wanted.filter((name) => !existsSync(join(prebuilds, name)));
  const others = globSync('*/*', { cwd: prebuilds }).filter(
    (name) => !wanted.includes(name.replaceAll('\\', '/')),
  );
  const faults = [
    ...missing.map(
      (name) => `prebuilds/${name} is missing: "npm run build:accelerator -- --release" makes it.`,
    ),
    ...others.map((name) => `prebuilds/${name} is not part of a release: remove it.`),
  ];
  return faults.length > 0 ? faults : releasePlatforms.flatMap((platform) => findFaultOf(platform, attempt));
}

function findFaultOf(
  platform: ReleasePlatform,
  attempt: (platform: ReleasePlatform) => Trial,
): readonly string[] {
  try {
    const trial = attempt(platform);
    if (trial.platform !== platform)
      return [`The Node for ${platform} says that it is one for ${trial.platform}.`];
    return trial.method === 'builtin' ? [`prebuilds/${platform}: ${trial.reason}`] : [];
  } catch (error) {
    return [`prebuilds/${platform} could not be tried: ${(error as Error).message}`];
  }
}
