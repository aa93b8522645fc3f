// The ways to encrypt, the fastest first.

/**
 * `multi-buffer`: native, eight key agreements at a time (AVX-512 IFMA). `openssl`: native, one after the other.
 * `builtin`: Node's own crypto module.
 */
export const encryptionMethods = ['multi-buffer', 'openssl', 'builtin'] as const;
export type EncryptionMethod = (typeof encryptionMethods)[number];
