/** How a body can be encrypted. */
export const supportedContentEncodings = { AES_GCM: 'aesgcm', AES_128_GCM: 'aes128gcm' } as const;
/** How urgent a message can be. */
export const supportedUrgency = { VERY_LOW: 'very-low', LOW: 'low', NORMAL: 'normal', HIGH: 'high' } as const;
