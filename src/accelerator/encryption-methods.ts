// The encryption methods, fastest first.

/**
 * `multi-buffer` is native and runs eight key agreements at a time (AVX-512 IFMA); `openssl` is native and runs them
 * one by one; `builtin` uses Node's crypto module.
 */
export const encryptionMethods = ['multi-buffer', 'openssl', 'builtin'] as const;
export type EncryptionMethod = (typeof encryptionMethods)[number];
