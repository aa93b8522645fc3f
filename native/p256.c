// P-256 with OpenSSL's own implementation, without the layers above it, which copy keys, check them again and allocate.
#include "p256.h"
#include <openssl/obj_mac.h>
#include <openssl/rand.h>
#include <string.h>

// SEC 2 §2.4.2: the order of the group.
static const uint8_t order[SCALAR_BYTES] = {
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51};

// SEC 2 §2.4.2: the field's prime.
static const uint8_t prime[SCALAR_BYTES] = {
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

bool is_private_key(const uint8_t *bytes) {
  static const uint8_t zero[SCALAR_BYTES];
  return memcmp(bytes, order, SCALAR_BYTES) < 0 && memcmp(bytes, zero, SCALAR_BYTES) != 0;
}

bool is_in_field(const uint8_t *point) {
  return point[0] == POINT_CONVERSION_UNCOMPRESSED && memcmp(point + 1, prime, SCALAR_BYTES) < 0 &&
         memcmp(point + 1 + SCALAR_BYTES, prime, SCALAR_BYTES) < 0;
}

bool curve_init(Curve *curve) {
  curve->group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
  curve->numbers = BN_CTX_new();
  curve->point = curve->group ? EC_POINT_new(curve->group) : NULL;
  curve->scalar = BN_new();
  curve->x = BN_new();
  curve->y = BN_new();
  if (curve->scalar) BN_set_flags(curve->scalar, BN_FLG_CONSTTIME);
  return curve->point && curve->numbers && curve->scalar && curve->x && curve->y;
}

void curve_free(Curve *curve) {
  BN_clear_free(curve->scalar);
  BN_clear_free(curve->x);
  BN_clear_free(curve->y);
  EC_POINT_clear_free(curve->point);
  BN_CTX_free(curve->numbers);
  EC_GROUP_free(curve->group);
}

bool draw_private_keys(Agreement *agreements, size_t count) {
  uint8_t drawn[64 * SCALAR_BYTES];
  bool is_done = true;
  for (size_t done = 0; done < count && is_done;) {
    size_t wanted = count - done < 64 ? count - done : 64;
    is_done = RAND_priv_bytes(drawn, (int)(wanted * SCALAR_BYTES)) > 0;
    for (size_t i = 0; i < wanted && is_done; i++) {
      const uint8_t *key = drawn + i * SCALAR_BYTES;
      // one in 2^32 is out of range and drawn again (FIPS 186-5 A.4.2: rejection keeps the rest uniform)
      if (is_private_key(key)) memcpy(agreements[done++].private_key, key, SCALAR_BYTES);
    }
  }
  OPENSSL_cleanse(drawn, sizeof drawn);
  return is_done;
}

// Writes the point's coordinates as 64 bytes.
static bool read_coordinates(Curve *curve, uint8_t *bytes) {
  return EC_POINT_get_affine_coordinates(curve->group, curve->point, curve->x, curve->y, curve->numbers) &&
         BN_bn2binpad(curve->x, bytes, SCALAR_BYTES) == SCALAR_BYTES &&
         BN_bn2binpad(curve->y, bytes + SCALAR_BYTES, SCALAR_BYTES) == SCALAR_BYTES;
}

static bool agree_once(Curve *curve, Agreement *agreement) {
  uint8_t shared[2 * SCALAR_BYTES];
  // accepts only points on the curve with coordinates below p; P-256 has cofactor 1, so no other check is needed
  agreement->is_point = agreement->peer[0] == POINT_CONVERSION_UNCOMPRESSED &&
                        EC_POINT_oct2point(curve->group, curve->point, agreement->peer, POINT_BYTES, curve->numbers);
  if (!agreement->is_point) return true;
  bool is_done = BN_bin2bn(agreement->private_key, SCALAR_BYTES, curve->scalar) &&
                 EC_POINT_mul(curve->group, curve->point, NULL, curve->point, curve->scalar, curve->numbers) &&
                 read_coordinates(curve, shared) &&
                 EC_POINT_mul(curve->group, curve->point, curve->scalar, NULL, NULL, curve->numbers) &&
                 read_coordinates(curve, agreement->public_key + 1);
  agreement->public_key[0] = POINT_CONVERSION_UNCOMPRESSED;
  if (is_done) memcpy(agreement->secret, shared, SCALAR_BYTES);
  OPENSSL_cleanse(shared, sizeof shared);
  return is_done;
}

bool agree(Curve *curve, Agreement *agreements, size_t count) {
  bool is_done = true;
  for (size_t i = 0; i < count && is_done; i++) is_done = agree_once(curve, &agreements[i]);
  BN_clear(curve->scalar);
  BN_clear(curve->x);
  BN_clear(curve->y);
  return is_done;
}
