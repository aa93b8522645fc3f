// One record of the content coding aes128gcm (RFC 8188) with the keys of Web Push (RFC 8291).
#pragma once
#include "p256.h"
#include <openssl/evp.h>

enum { SALT_BYTES = 16, AUTH_BYTES = 16, TAG_BYTES = 16, RECORD_SIZE = 4096 };
enum { HEADER_BYTES = SALT_BYTES + 4 + 1 + POINT_BYTES, OVERHEAD_BYTES = HEADER_BYTES + 1 + TAG_BYTES };

typedef struct {
  const uint8_t *data;
  size_t length;
} Bytes;

// Writes the body of plaintext.length + OVERHEAD_BYTES. Its first 16 bytes must already hold the salt, and `aead`
// must be set to AES-128-GCM. Returns false if OpenSSL fails.
bool seal(EVP_CIPHER_CTX *aead, const Agreement *agreement, const uint8_t *auth, Bytes plaintext, uint8_t *body);
