// Ephemeral ECDH on P-256 for a group of messages. OpenSSL takes one message after the other; our lanes take eight at
// a time. The bytes are the same.
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
  const uint8_t *peer;                // p256dh: 65 untrusted bytes
  bool is_point;                      // if false, `peer` is not on the curve and the outputs are undefined
} Agreement;

// OpenSSL objects, made once per thread.
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

// Whether 65 bytes are an uncompressed point (SEC 1 §2.3.4) with coordinates below the field's prime. Does not check
// that the point is on the curve.
bool is_in_field(const uint8_t *point);

// Draws a private key for each agreement, uniform in 1 to n-1.
bool draw_private_keys(Agreement *agreements, size_t count);

// Fills in public keys and secrets. Returns false if OpenSSL itself fails (no memory).
bool agree(Curve *curve, Agreement *agreements, size_t count);

// Whether this build has lanes and this processor has the instructions (AVX-512 IFMA).
bool has_lanes(void);

// Makes the table of multiples of the base point. Call it once per process, before `agree_lanes`.
void prepare_lanes(void);

// Fills in public keys and secrets of 1 to 64 agreements. A remainder below eight costs as much as eight. Returns a
// bit for each lane that met an exception of the addition formulas: it leaves out the messages whose index modulo 8
// is that lane, so call `agree` for them. This needs a private key of 2 or the order minus 2, one message in 2^255.
unsigned agree_lanes(Agreement *agreements, size_t count);
