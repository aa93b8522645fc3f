// The lanes of native/lanes.h in plain C, for machines without AVX-512 IFMA. Test and soak build the accelerator with them; they take
// many times as long as OpenSSL, and their look-ups are not in constant time.
#pragma once
#include <stdint.h>

typedef struct {
  uint64_t lanes[8];
} Vec;
typedef Vec Mask;  // all ones or all zeros in each lane

#define EACH_LANE(value)                                     \
  Vec result;                                                \
  for (int i = 0; i < 8; i++) result.lanes[i] = (value);     \
  return result

static inline uint64_t low_52(uint64_t a) { return a & (((uint64_t)1 << 52) - 1); }
static inline uint64_t zero_or_ones(uint64_t a) { return ((a | (0 - a)) >> 63) - 1; }

static inline Vec vec_load(const uint64_t *from) { EACH_LANE(from[i]); }
static inline void vec_store(uint64_t *to, Vec a) {
  for (int i = 0; i < 8; i++) to[i] = a.lanes[i];
}
static inline Vec vec_all(uint64_t value) { EACH_LANE(value); }
static inline Vec vec_add(Vec a, Vec b) { EACH_LANE(a.lanes[i] + b.lanes[i]); }
static inline Vec vec_sub(Vec a, Vec b) { EACH_LANE(a.lanes[i] - b.lanes[i]); }
static inline Vec vec_and(Vec a, Vec b) { EACH_LANE(a.lanes[i] & b.lanes[i]); }
// Shifts by 0 to 63 bits. The signed one rounds down.
static inline Vec vec_left(Vec a, unsigned bits) { EACH_LANE(a.lanes[i] << bits); }
static inline Vec vec_right(Vec a, unsigned bits) { EACH_LANE(a.lanes[i] >> bits); }
static inline Vec vec_right_signed(Vec a, unsigned bits) {
  EACH_LANE(a.lanes[i] >> bits | ((0 - (a.lanes[i] >> 63)) & ~(UINT64_MAX >> bits)));
}
static inline Vec vec_factor(Vec a) { EACH_LANE(low_52(a.lanes[i])); }
// Adds the low, or the high, 52 bits of the product of two 52-bit numbers. Of larger ones it takes the low 52 bits.
static inline Vec vec_add_low(Vec sum, Vec a, Vec b) { EACH_LANE(sum.lanes[i] + low_52(a.lanes[i] * b.lanes[i])); }
static inline Vec vec_add_high(Vec sum, Vec a, Vec b) {
  EACH_LANE(sum.lanes[i] + (uint64_t)((unsigned __int128)low_52(a.lanes[i]) * low_52(b.lanes[i]) >> 52));
}
static inline Mask vec_equal(Vec a, Vec b) { EACH_LANE(zero_or_ones(a.lanes[i] ^ b.lanes[i])); }
static inline Mask mask_and(Mask a, Mask b) { return vec_and(a, b); }
static inline unsigned mask_bits(Mask mask) {
  unsigned bits = 0;
  for (int i = 0; i < 8; i++) bits |= (unsigned)(mask.lanes[i] & 1) << i;
  return bits;
}
static inline Vec vec_blend(Mask mask, Vec unset, Vec set) {
  EACH_LANE((set.lanes[i] & mask.lanes[i]) | (unset.lanes[i] & ~mask.lanes[i]));
}
// In each lane the one of 16 numbers that the low four bits of `index` name.
static inline Vec vec_look_up(Vec index, Vec first, Vec second) {
  const Vec numbers[2] = {first, second};
  EACH_LANE(numbers[index.lanes[i] >> 3 & 1].lanes[index.lanes[i] & 7]);
}
#define LANES_BEGIN
#define LANES_END
