// Key derivation directly on SHA-256's compression function. All lengths are known, so the blocks are laid out by
// hand. The two key blocks of a MAC are hashed once and used for both keys that are expanded under it.
#define OPENSSL_SUPPRESS_DEPRECATED  // SHA256_Transform has no successor
#include "aes128gcm.h"
#include <openssl/sha.h>
#include <string.h>

enum { BLOCK_BYTES = SHA256_CBLOCK, HASH_BYTES = SHA256_DIGEST_LENGTH, MAX_MESSAGE_BYTES = 160 };

// HMAC-SHA-256 (RFC 2104) after hashing its key block.
typedef struct {
  SHA256_CTX inner, outer;
} Mac;

#define TEXT(literal) ((Bytes){(const uint8_t *)(literal), sizeof(literal) - 1})

static void start_with(SHA256_CTX *hash, const uint8_t *key, size_t length, uint8_t pad) {
  uint8_t block[BLOCK_BYTES];
  memset(block, pad, sizeof block);
  for (size_t i = 0; i < length; i++) block[i] ^= key[i];
  SHA256_Init(hash);
  SHA256_Transform(hash, block);
  OPENSSL_cleanse(block, sizeof block);
}

static void write_big_endian(uint8_t *bytes, uint32_t word) {
  for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(word >> (24 - 8 * i));
}

// Finishes a hash that has taken in one block, with `message` (at most MAX_MESSAGE_BYTES).
static void finish_with(SHA256_CTX hash, Bytes message, uint8_t *out) {
  uint8_t blocks[3 * BLOCK_BYTES] = {0};
  size_t length = (message.length + 1 + 8 + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
  memcpy(blocks, message.data, message.length);
  blocks[message.length] = 0x80;
  write_big_endian(blocks + length - 4, (uint32_t)(BLOCK_BYTES + message.length) * 8);
  for (size_t at = 0; at < length; at += BLOCK_BYTES) SHA256_Transform(&hash, blocks + at);
  for (int i = 0; i < 8; i++) write_big_endian(out + 4 * i, (uint32_t)hash.h[i]);
  OPENSSL_cleanse(blocks, sizeof blocks);
  OPENSSL_cleanse(&hash, sizeof hash);
}

static void mac_start(Mac *mac, const uint8_t *key, size_t length) {
  start_with(&mac->inner, key, length, 0x36);
  start_with(&mac->outer, key, length, 0x5c);
}

static void mac_finish(const Mac *mac, Bytes message, uint8_t *out) {
  finish_with(mac->inner, message, out);
  finish_with(mac->outer, (Bytes){out, HASH_BYTES}, out);
}

bool seal(EVP_CIPHER_CTX *aead, const Agreement *agreement, const uint8_t *auth, Bytes plaintext, uint8_t *body) {
  static const char label[] = "WebPush: info";  // the NUL is part of the label
  uint8_t *record = body + HEADER_BYTES;
  uint8_t info[sizeof label + 2 * POINT_BYTES + 1];
  struct {
    Mac mac;
    uint8_t pseudorandom[HASH_BYTES], keying_material[HASH_BYTES], key[HASH_BYTES], nonce[HASH_BYTES];
  } secrets;
  _Static_assert(sizeof info <= MAX_MESSAGE_BYTES, "HKDF's info fits into three blocks with its padding");

  // RFC 8188 §2.1: salt(16) ‖ rs(4) ‖ idlen(1) ‖ keyid(65)
  memcpy(body + SALT_BYTES, "\x00\x00\x10\x00\x41", 5);
  memcpy(body + SALT_BYTES + 5, agreement->public_key, POINT_BYTES);

  // RFC 8291 §3.4
  memcpy(info, label, sizeof label);
  memcpy(info + sizeof label, agreement->peer, POINT_BYTES);
  memcpy(info + sizeof label + POINT_BYTES, agreement->public_key, POINT_BYTES);
  info[sizeof info - 1] = 1;  // HKDF-Expand's counter (RFC 5869 §2.3)
  mac_start(&secrets.mac, auth, AUTH_BYTES);
  mac_finish(&secrets.mac, (Bytes){agreement->secret, SCALAR_BYTES}, secrets.pseudorandom);
  mac_start(&secrets.mac, secrets.pseudorandom, HASH_BYTES);
  mac_finish(&secrets.mac, (Bytes){info, sizeof info}, secrets.keying_material);

  // RFC 8188 §2.2 and §2.3
  mac_start(&secrets.mac, body, SALT_BYTES);
  mac_finish(&secrets.mac, (Bytes){secrets.keying_material, HASH_BYTES}, secrets.pseudorandom);
  mac_start(&secrets.mac, secrets.pseudorandom, HASH_BYTES);
  mac_finish(&secrets.mac, TEXT("Content-Encoding: aes128gcm\0\1"), secrets.key);
  mac_finish(&secrets.mac, TEXT("Content-Encoding: nonce\0\1"), secrets.nonce);

  int written = 0;
  bool is_done = EVP_EncryptInit_ex2(aead, NULL, secrets.key, secrets.nonce, NULL) &&
                 EVP_EncryptUpdate(aead, record, &written, plaintext.data, (int)plaintext.length) &&
                 EVP_EncryptUpdate(aead, record + plaintext.length, &written, (const uint8_t *)"\2", 1) &&
                 EVP_EncryptFinal_ex(aead, record + plaintext.length + 1, &written) &&
                 EVP_CIPHER_CTX_ctrl(aead, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, record + plaintext.length + 1);
  OPENSSL_cleanse(&secrets, sizeof secrets);
  return is_done;
}
