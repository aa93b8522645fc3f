// P-256 for up to 64 messages with one inversion: the multi-buffer library inverts twice for each eight messages, and an
// inversion is a fifth of their cost. Inverting a product and multiplying it out again (Montgomery 1987 §10.3.1) needs three
// multiplications for each element instead.
//
// The functions are the library's own, behind its public ones. Its header does not declare them, so the build tries them, and
// leaves them out (WITHOUT_LANE_FUNCTIONS) if one is missing or if a result is not the expected one.
#include "p256.h"

#if defined HAS_CRYPTO_MB && !defined WITHOUT_LANE_FUNCTIONS
#include <crypto_mb/cpu_features.h>
#include <openssl/crypto.h>
#include <string.h>

enum { DIGITS = 5, DIGIT_BITS = 52, WORDS = 4, GROUPS = MAX_BATCH / LANES };
static const uint64_t DIGIT_MASK = ((uint64_t)1 << DIGIT_BITS) - 1;

// Eight field elements in radix 2^52, the least significant digit first.
typedef struct {
  _Alignas(64) uint64_t digits[DIGITS][LANES];
} Element;

// Eight points in Jacobian coordinates.
typedef struct {
  Element x, y, z;
} Point;

// Eight scalars in 64-bit words, with one word of zeros above them.
typedef struct {
  _Alignas(64) uint64_t words[WORDS + 1][LANES];
} Scalar;

// Elements are in Montgomery form, but for what `tomont` takes and `frommont` returns. A result may stand where an operand stands.
void ifma_tomont52_p256_mb8(Element *result, const Element *element);
void ifma_frommont52_p256_mb8(Element *result, const Element *element);
void ifma_amm52_p256_mb8(Element *product, const Element *one, const Element *other);
void ifma_ams52_p256_mb8(Element *square, const Element *element);
void ifma_aminv52_p256_mb8(Element *inverse, const Element *element);
void ifma_ec_nistp256_mul_point_mb8(Point *result, const Point *point, const Scalar *scalar);
void ifma_ec_nistp256_mul_pointbase_mb8(Point *result, const Scalar *scalar);
uint8_t ifma_is_on_curve_p256_mb8(const Point *point, int has_z);  // a bit for each lane

// One group of eight messages.
typedef struct {
  Scalar private_key;
  Point public_key, shared;
} Group;

typedef struct {
  Group groups[GROUPS];
  Element products[2 * GROUPS];  // of the z coordinates up to and with each point
  Element inverse, power;
} Work;

static void read_words(uint64_t *words, const uint8_t *bytes) {
  for (int i = 0; i < WORDS; i++) {
    uint64_t word;
    memcpy(&word, bytes + 8 * (WORDS - 1 - i), 8);
    words[i] = __builtin_bswap64(word);
  }
}

static void read_scalar(Scalar *scalar, size_t lane, const uint8_t *bytes) {
  uint64_t words[WORDS];
  read_words(words, bytes);
  for (int i = 0; i < WORDS; i++) scalar->words[i][lane] = words[i];
  scalar->words[WORDS][lane] = 0;
  OPENSSL_cleanse(words, sizeof words);
}

static void read_element(Element *element, size_t lane, const uint8_t *bytes) {
  uint64_t words[WORDS];
  read_words(words, bytes);
  element->digits[0][lane] = words[0] & DIGIT_MASK;
  element->digits[1][lane] = (words[0] >> 52 | words[1] << 12) & DIGIT_MASK;
  element->digits[2][lane] = (words[1] >> 40 | words[2] << 24) & DIGIT_MASK;
  element->digits[3][lane] = (words[2] >> 28 | words[3] << 36) & DIGIT_MASK;
  element->digits[4][lane] = words[3] >> 16;
}

static void write_word(uint8_t *bytes, uint64_t word) {
  word = __builtin_bswap64(word);
  memcpy(bytes, &word, 8);
}

static void write_element(uint8_t *bytes, const Element *element, size_t lane) {
  uint64_t one = element->digits[1][lane], two = element->digits[2][lane], three = element->digits[3][lane];
  write_word(bytes + 24, element->digits[0][lane] | one << 52);
  write_word(bytes + 16, one >> 12 | two << 40);
  write_word(bytes + 8, two >> 24 | three << 28);
  write_word(bytes, three >> 36 | element->digits[4][lane] << 16);
}

static void copy_lane(Element *to, const Element *from, size_t lane) {
  for (int i = 0; i < DIGITS; i++) to->digits[i][lane] = from->digits[i][lane];
}

// Multiplies out both points of a group, and says of each message whether its peer is a point. Lanes without one work on their own
// public key: a z of zero would make the common product zero.
static void multiply(Group *group, Agreement *agreements, size_t count) {
  Point peer;
  bool is_point[LANES];
  memset(&peer.z, 0, sizeof peer.z);
  for (size_t lane = 0; lane < LANES; lane++) {
    // what is left over works on the first message once more
    const Agreement *agreement = &agreements[lane < count ? lane : 0];
    is_point[lane] = is_in_field(agreement->peer);
    read_scalar(&group->private_key, lane, agreement->private_key);
    read_element(&peer.x, lane, agreement->peer + 1);
    read_element(&peer.y, lane, agreement->peer + 1 + SCALAR_BYTES);
    peer.z.digits[0][lane] = 1;
  }
  ifma_tomont52_p256_mb8(&peer.x, &peer.x);
  ifma_tomont52_p256_mb8(&peer.y, &peer.y);
  ifma_tomont52_p256_mb8(&peer.z, &peer.z);
  ifma_ec_nistp256_mul_pointbase_mb8(&group->public_key, &group->private_key);
  uint8_t on_curve = ifma_is_on_curve_p256_mb8(&peer, 0);
  for (size_t lane = 0; lane < LANES; lane++) {
    is_point[lane] = is_point[lane] && (on_curve >> lane & 1);
    if (lane < count) agreements[lane].is_point = is_point[lane];
    if (is_point[lane]) continue;
    copy_lane(&peer.x, &group->public_key.x, lane);
    copy_lane(&peer.y, &group->public_key.y, lane);
    copy_lane(&peer.z, &group->public_key.z, lane);
  }
  ifma_ec_nistp256_mul_point_mb8(&group->shared, &peer, &group->private_key);
}

static Point *point_at(Work *work, size_t i) {
  Group *group = &work->groups[i / 2];
  return i % 2 == 0 ? &group->public_key : &group->shared;
}

// Jacobian to affine: x/z^2, y/z^3.
static void divide(Point *point, const Element *inverse, Element *power) {
  ifma_ams52_p256_mb8(power, inverse);
  ifma_amm52_p256_mb8(&point->x, &point->x, power);
  ifma_amm52_p256_mb8(power, power, inverse);
  ifma_amm52_p256_mb8(&point->y, &point->y, power);
  ifma_frommont52_p256_mb8(&point->x, &point->x);
  ifma_frommont52_p256_mb8(&point->y, &point->y);
}

// Makes all points affine. No z is zero, since private keys are 1 to n-1 and n is prime, but for one case, which is too rare (about
// 2^-255 for each message) to look for it: the library adds wrongly where the private key is n-2 and the peer G/2 or -G/2.
static void divide_all(Work *work, size_t points) {
  work->products[0] = point_at(work, 0)->z;
  for (size_t i = 1; i < points; i++) {
    ifma_amm52_p256_mb8(&work->products[i], &work->products[i - 1], &point_at(work, i)->z);
  }
  ifma_aminv52_p256_mb8(&work->inverse, &work->products[points - 1]);
  for (size_t i = points - 1; i > 0; i--) {
    Point *point = point_at(work, i);
    // the product before it times the inverse is 1/z; the inverse times z is that of the product before
    ifma_amm52_p256_mb8(&work->products[i], &work->products[i - 1], &work->inverse);
    ifma_amm52_p256_mb8(&work->inverse, &work->inverse, &point->z);
    divide(point, &work->products[i], &work->power);
  }
  divide(point_at(work, 0), &work->inverse, &work->power);
}

bool has_lane_functions(void) {
  return (mbx_get_cpu_features() & MBX_AVX512_GENERAL_ISA) == MBX_AVX512_GENERAL_ISA;
}

void agree_lanes(Agreement *agreements, size_t count) {
  Work work;
  size_t groups = 0;
  do {
    size_t done = groups * LANES, left = count - done;
    multiply(&work.groups[groups++], agreements + done, left < LANES ? left : LANES);
  } while (groups * LANES < count);
  divide_all(&work, 2 * groups);
  for (size_t i = 0; i < count; i++) {
    const Group *group = &work.groups[i / LANES];
    agreements[i].public_key[0] = POINT_CONVERSION_UNCOMPRESSED;
    write_element(agreements[i].public_key + 1, &group->public_key.x, i % LANES);
    write_element(agreements[i].public_key + 1 + SCALAR_BYTES, &group->public_key.y, i % LANES);
    write_element(agreements[i].secret, &group->shared.x, i % LANES);
  }
  OPENSSL_cleanse(&work, sizeof work);
}

#else

bool has_lane_functions(void) { return false; }

void agree_lanes(Agreement *agreements, size_t count) { (void)agreements, (void)count; }

#endif
