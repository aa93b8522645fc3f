// Ephemeral ECDH on P-256 for a group of messages: OpenSSL takes one after the other, the multi-buffer library eight
// at a time, and its lane functions up to 64 with one inversion. All give the same bytes.
#pragma once
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { POINT_BYTES = 65, SCALAR_BYTES = 32, LANES = 8, MAX_BATCH = 64 };

// One message's key agreement. In: own private key and the peer's public key. Out: own public key and shared secret.
typedef struct {
  uint8_t private_key[SCALAR_BYTES];  // big-endian, 1 to n-1
  uint8_t public_key[POINT_BYTES];    // 0x04, x, y
  uint8_t secret[SCALAR_BYTES];       // the shared point's x (RFC 8291 §3.1)
  const uint8_t *peer;                // p256dh, 65 bytes from a stranger
  bool is_point;                      // false: `peer` is not on the curve, and the outputs are undefined
} Agreement;

// What OpenSSL needs, made once per thread.
typedef struct {
  EC_GROUP *group;
  BN_CTX *numbers;
  EC_POINT *point;
  BIGNUM *scalar, *x, *y;
} Curve;

bool curve_init(Curve *curve);
void curve_free(Curve *curve);

// Whether 32 bytes are a private key: 1 to n-1.
bool is_private_key(const uint8_t *bytes);

// Whether 65 bytes are an uncompressed point (SEC 1 §2.3.4) with coordinates below the field's prime. The library reduces larger ones
// in silence. Whether the point is on the curve is not looked at.
bool is_in_field(const uint8_t *point);

// Draws a private key for each agreement, uniform in 1 to n-1.
bool draw_private_keys(Agreement *agreements, size_t count);

// Fills in public keys and secrets. False where OpenSSL itself fails (no memory).
bool agree(Curve *curve, Agreement *agreements, size_t count);

// Whether this build has the multi-buffer library, and this processor the instructions that it needs.
bool has_multi_buffer(void);

// The same as `agree` for 1 to 8 agreements, which cost as much as eight. False where the library refuses to work.
bool agree_multi_buffer(Agreement *agreements, size_t count);

// Whether the library's lane functions are built in, and this processor has the instructions that they need.
bool has_lane_functions(void);

// The same for 1 to 64 agreements; each eight, and the rest, cost as much as eight. It reports no failure: it fails where the private
// key n-2 is drawn for the peer G/2 or -G/2, which happens to one message in about 2^255.
void agree_lanes(Agreement *agreements, size_t count);
