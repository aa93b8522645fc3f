// The encryption methods, fastest first.

/**
 * `multi-buffer` (eight key agreements at a time, AVX-512 IFMA) and `openssl` (one at a time) are native. `builtin`
 * uses Node's crypto module.
 */
export const encryptionMethods = ['multi-buffer', 'openssl', 'builtin'] as const;
export type EncryptionMethod = (typeof encryptionMethods)[number];
