// The accelerator as the tests of this folder load it: one is built for all test files of a run.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';

import { compiler, skipWithout } from '../../scripts/install-test-tools.ts';
import { type Addon, addonFile } from '../../src/accelerator/addon.ts';
import type { EncryptionMethod } from '../../src/accelerator/encryption-methods.ts';
import { loadAccelerator, type Accelerator } from '../../src/accelerator/load-accelerator.ts';
import { createEncrypter, type Encrypt } from '../../src/protocol/message-encryption.ts';
import { generateUserAgentKeys } from '../../src/protocol/user-agent.ts';
import { buildAccelerator } from '../../tools/pack.ts';

export const folder = mkdtempSync(join(tmpdir(), 'deskbell-accelerator-'));
before(buildAccelerator);
after(() => rmSync(folder, { recursive: true, force: true }));
export const file = addonFile();
export const cacheFolder = join(folder, 'cache');
export const skip = skipWithout('the accelerator', [compiler]);

const loaded = new Map<EncryptionMethod, Accelerator>();
/** Loaded once, by the first test that needs it. */
export function native(
  fastest: EncryptionMethod = 'multi-buffer',
): Accelerator & { readonly addon: Addon; readonly encrypt: Encrypt } {
  let accelerator = loaded.get(fastest);
  if (accelerator === undefined) {
    accelerator = loadAccelerator({ file, fastest, cacheFolder });
    loaded.set(fastest, accelerator);
  }
  const { addon } = accelerator;
  assert.ok(addon, accelerator.reason ?? '');
  const encrypt: Encrypt = (text, subscription) => {
    const [result] = accelerator.encryptBatch([{ plaintext: text, subscription }]);
    if (result instanceof Uint8Array) return result;
    throw result!;
  };
  return { ...accelerator, addon, encrypt };
}
/** What this machine offers: where the processor lacks the instructions, both are OpenSSL. */
export const methods = ['multi-buffer', 'openssl'] as const;
export const keys = generateUserAgentKeys();
export const builtin = createEncrypter();
export const plaintext = Buffer.from('{"title":"t","message":"m"}');
