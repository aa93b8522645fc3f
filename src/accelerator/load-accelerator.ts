// Chooses the way to encrypt: the native accelerator where it was built for this machine and has proved itself,
// otherwise Node's builtins. Both give the same bytes; the accelerator takes half of the time.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

import { createEncrypter, type Encrypt } from '../protocol/encryption.ts';
import { encryptWithAddon, type Addon } from './addon.ts';
import { findFault } from './self-check.ts';

export type Accelerator =
  | { readonly kind: 'native'; readonly encrypt: Encrypt; readonly addon: Addon }
  /** `reason`: one line for the log that says why it is not native. */
  | { readonly kind: 'builtin'; readonly encrypt: Encrypt; readonly reason: string };

/** Where the addon for this machine stands, built or not: `build/` of the package, from `src/` and `dist/` alike. */
export const acceleratorFile = fileURLToPath(
  new URL(`../../build/accelerator-${process.platform}-${process.arch}.node`, import.meta.url),
);

/**
 * Loads and checks the accelerator, which takes some 10 ms. Each thread loads its own.
 *
 * @param file by default where `npm run build:accelerator` puts it
 */
export function loadAccelerator(file: string = acceleratorFile): Accelerator {
  if (!existsSync(file)) {
    const machine = `${process.platform}-${process.arch}`;
    return builtin(
      `there is no accelerator for ${machine} here (in a clone, npm run build:accelerator makes one)`,
    );
  }
  let addon: Addon;
  try {
    addon = createRequire(import.meta.url)(file) as Addon;
  } catch (error) {
    return builtin(`the accelerator cannot be loaded: ${(error as Error).message.split('\n', 1)[0]}`);
  }
  const fault = findFault(addon);
  if (fault !== undefined) return builtin(`the accelerator failed its check: ${fault}`);
  return { kind: 'native', encrypt: encryptWithAddon(addon), addon };
}

function builtin(reason: string): Accelerator {
  return {
    kind: 'builtin',
    encrypt: createEncrypter(),
    reason: `Encrypting with Node's builtins: ${reason}.`,
  };
}
