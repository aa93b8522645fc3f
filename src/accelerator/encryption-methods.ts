// The encryption methods, fastest first.

/**
 * `multi-buffer` and `openssl` are native: one runs eight key agreements at a time (AVX-512 IFMA), the other one by
 * one. `builtin` uses Node's crypto module.
 */
export const encryptionMethods = ['multi-buffer', 'openssl', 'builtin'] as const;
export type EncryptionMethod = (typeof encryptionMethods)[number];
