// P-256 eight at a time, by Intel's Cryptography Primitives Library (crypto_mb) on processors with AVX-512 IFMA. Built
// without the library, this file says that there is none.
#include "p256.h"

#ifdef HAS_CRYPTO_MB
#include <crypto_mb/cpu_features.h>
#include <crypto_mb/ec_nistp256.h>
#include <openssl/crypto.h>
#include <string.h>

enum { WORDS = 4 };  // of a field element, 64 bits each, the least significant first

typedef struct {
  int64u private_key[LANES][WORDS], x[LANES][WORDS], y[LANES][WORDS], public_x[LANES][WORDS], public_y[LANES][WORDS];
  int8u secret[LANES][SCALAR_BYTES];
} Lanes;

static void read_words(int64u *words, const uint8_t *bytes) {
  for (int i = 0; i < WORDS; i++) {
    int64u word;
    memcpy(&word, bytes + 8 * (WORDS - 1 - i), 8);
    words[i] = __builtin_bswap64(word);
  }
}

static void write_words(uint8_t *bytes, const int64u *words) {
  for (int i = 0; i < WORDS; i++) {
    int64u word = __builtin_bswap64(words[WORDS - 1 - i]);
    memcpy(bytes + 8 * i, &word, 8);
  }
}

bool has_multi_buffer(void) { return mbx_is_crypto_mb_applicable(0) != 0; }

bool agree_multi_buffer(Agreement *agreements, size_t count) {
  Lanes lanes;
  const int64u *private_keys[LANES], *xs[LANES], *ys[LANES];
  int64u *public_xs[LANES], *public_ys[LANES];
  int8u *secrets[LANES];
  for (size_t i = 0; i < LANES; i++) {
    // what is left over works on the first message once more
    const Agreement *agreement = &agreements[i < count ? i : 0];
    read_words(lanes.private_key[i], agreement->private_key);
    read_words(lanes.x[i], agreement->peer + 1);
    read_words(lanes.y[i], agreement->peer + 1 + SCALAR_BYTES);
    private_keys[i] = lanes.private_key[i], xs[i] = lanes.x[i], ys[i] = lanes.y[i];
    public_xs[i] = lanes.public_x[i], public_ys[i] = lanes.public_y[i], secrets[i] = lanes.secret[i];
  }
  // z = NULL: affine coordinates
  mbx_status made = mbx_nistp256_ecpublic_key_mb8(public_xs, public_ys, NULL, private_keys, NULL);
  mbx_status derived = mbx_nistp256_ecdh_mb8(secrets, private_keys, xs, ys, NULL, NULL);
  bool is_done = made == MBX_STATUS_OK;
  for (size_t i = 0; i < count && is_done; i++) {
    Agreement *agreement = &agreements[i];
    agreement->is_point = is_in_field(agreement->peer) && MBX_GET_STS(derived, (int)i) == MBX_STATUS_OK;
    agreement->public_key[0] = POINT_CONVERSION_UNCOMPRESSED;
    write_words(agreement->public_key + 1, lanes.public_x[i]);
    write_words(agreement->public_key + 1 + SCALAR_BYTES, lanes.public_y[i]);
    memcpy(agreement->secret, lanes.secret[i], SCALAR_BYTES);
  }
  OPENSSL_cleanse(&lanes, sizeof lanes);
  return is_done;
}

#else

bool has_multi_buffer(void) { return false; }

bool agree_multi_buffer(Agreement *agreements, size_t count) {
  (void)agreements, (void)count;
  return false;
}

#endif
