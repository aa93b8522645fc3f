// Chooses how to encrypt: with the native addon if there is one for this machine and it passes its check, otherwise
// with Node's crypto module. The results are the same.
import { existsSync } from 'node:fs';

import { createEncryptBatch, createEncrypter, type EncryptBatch } from '../protocol/message-encryption.ts';
import {
  type Addon,
  addonFile,
  createAddonEncryptBatch,
  describePlatform,
  loadAddon,
  opensslMajor,
} from './addon.ts';
import { findFaultInChild } from './check-in-child.ts';
import type { EncryptionMethod } from './encryption-methods.ts';
import { eightAtATime, reproducesVector } from './self-check.ts';

export interface Accelerator {
  readonly method: EncryptionMethod;
  readonly encryptBatch: EncryptBatch;
  /** Absent if `method` is `builtin`. */
  readonly addon?: Addon | undefined;
  /** One sentence that says why there is no addon, or why a capable processor cannot use `multi-buffer`. */
  readonly reason?: string | undefined;
}

export interface AcceleratorOptions {
  /** The fastest method that may be used. Default: `multi-buffer`, the fastest of all methods. */
  readonly fastest?: EncryptionMethod | undefined;
  /** Default: the addon that came with the package or was built with `npm run build:accelerator`. */
  readonly file?: string | undefined;
  /** The folder in which the check's result is cached. Default: `.cache/deskbell` in the home directory. */
  readonly cacheFolder?: string | undefined;
}

/** Loads the accelerator, once per thread. The first check on a machine takes half a second. */
export function loadAccelerator(options: AcceleratorOptions = {}): Accelerator {
  const { fastest = 'multi-buffer', file = addonFile(), cacheFolder } = options;
  if (fastest === 'builtin') return builtin();
  if (!existsSync(file)) {
    return builtin(
      `there is no accelerator for ${describePlatform()} and OpenSSL ${opensslMajor()} (in a clone, "npm run build:accelerator" builds it, and "npm pack" packs it for other projects)`,
    );
  }
  try {
    const fault = findFaultInChild(file, cacheFolder);
    const mayTakeEight = fastest === 'multi-buffer';
    const isOfEight = fault?.startsWith(eightAtATime) ?? false;
    if (fault !== undefined && !isOfEight) return builtin(`the accelerator failed its check: ${fault}`);
    const addon = loadAddon(file);
    const usesMultiBuffer = mayTakeEight && !isOfEight && addon.hasMultiBuffer();
    if (!reproducesVector({ addon, usesMultiBuffer })) {
      return builtin('the accelerator failed its check in this process');
    }
    return {
      method: usesMultiBuffer ? 'multi-buffer' : 'openssl',
      encryptBatch: createAddonEncryptBatch({ addon, usesMultiBuffer }),
      addon,
      ...(mayTakeEight &&
        isOfEight && {
          reason: `Encrypting one message after the other: the accelerator failed its check: ${fault}.`,
        }),
    };
  } catch (error) {
    return builtin(`the accelerator cannot be loaded: ${(error as Error).message.split('\n', 1)[0]}`);
  }
}

/** @param reason why a faster method is not used; absent if the caller asked for `builtin` */
function builtin(reason?: string): Accelerator {
  return {
    method: 'builtin',
    encryptBatch: createEncryptBatch(createEncrypter()),
    reason: reason === undefined ? undefined : `Encrypting with Node's builtins: ${reason}.`,
  };
}
