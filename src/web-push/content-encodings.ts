// The content encodings, under the names of the original.
export const supportedContentEncodings = { AES_GCM: 'aesgcm', AES_128_GCM: 'aes128gcm' } as const;
