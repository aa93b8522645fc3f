// The lanes of native/lanes.h with an interval for each lane's number, the same for all: native/p256_lanes.c compiled with this runs
// for all keys and points at once, and stops where a number could leave its type, or a factor its 52 bits. So its bounds are proven by
// the source itself, each operation in its order. What is read from memory may be any number.
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

typedef __int128 Wide;
typedef struct {
  Wide low, high;
} Vec;
typedef struct {
  bool any;
} Mask;

static const Wide TWO_64 = (Wide)1 << 64, TWO_63 = (Wide)1 << 63, TWO_52 = (Wide)1 << 52;

static inline void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  abort();
}

// What holds as a signed and as an unsigned number is kept as it is; a carry may be negative, a word from memory have 64 bits.
static inline Vec interval(Wide low, Wide high, const char *what) {
  bool is_signed = low >= -TWO_63 && high < TWO_63, is_unsigned = low >= 0 && high < TWO_64;
  if (low > high || !(is_signed || is_unsigned)) fail(what);
  return (Vec){low, high};
}
static inline Wide smaller(Wide a, Wide b) { return a < b ? a : b; }
static inline Wide larger(Wide a, Wide b) { return a > b ? a : b; }
static inline Vec hull(Vec a, Vec b) { return (Vec){smaller(a.low, b.low), larger(a.high, b.high)}; }

static inline Vec vec_load(const uint64_t *from) {
  (void)from;
  return (Vec){0, TWO_64 - 1};
}
static inline void vec_store(uint64_t *to, Vec a) {
  if (a.low < 0 || a.high >= TWO_52) fail("a digit that is stored is not carried");
  for (int i = 0; i < 8; i++) to[i] = (uint64_t)a.high;
}
static inline Vec vec_all(uint64_t value) { return (Vec){(Wide)value, (Wide)value}; }
static inline Vec vec_add(Vec a, Vec b) { return interval(a.low + b.low, a.high + b.high, "a sum overflows"); }
static inline Vec vec_sub(Vec a, Vec b) { return interval(a.low - b.high, a.high - b.low, "a difference overflows"); }
// One of the operands is a mask of low bits, as they all are but those of `join`, whose bound is the mask itself.
static inline Vec vec_and(Vec a, Vec b) {
  if (b.low != b.high) fail("what is masked with is no constant");
  bool is_low = (b.low & (b.low + 1)) == 0;
  if (is_low && a.low >= 0 && a.high <= b.high) return a;
  return (Vec){0, a.low < 0 ? b.high : smaller(a.high, b.high)};
}
// Bits may be shifted out: what is left of them is known only once it is masked.
static inline Vec vec_left(Vec a, unsigned bits) {
  if (bits > 63) fail("a shift is too long");
  Wide factor = (Wide)1 << bits;
  bool fits = a.low >= -TWO_63 / factor && a.high < TWO_63 / factor;
  return fits ? (Vec){a.low * factor, a.high * factor} : (Vec){0, TWO_64 - 1};
}
static inline Vec vec_right(Vec a, unsigned bits) {
  if (bits > 63 || a.low < 0) fail("a number with a sign is shifted without it");
  return (Vec){a.low >> bits, a.high >> bits};
}
static inline Vec vec_right_signed(Vec a, unsigned bits) {
  if (bits > 63 || a.high >= TWO_63) fail("a number of 64 bits is shifted as one with a sign");
  return (Vec){a.low >> bits, a.high >> bits};
}
static inline Vec vec_factor(Vec a) { return vec_and(a, vec_all((uint64_t)(TWO_52 - 1))); }
static inline void check_factors(Vec a, Vec b) {
  if (a.low < 0 || b.low < 0) fail("a factor may be negative");
  if (a.high >= TWO_52 || b.high >= TWO_52) fail("a factor may have more than 52 bits");
}
static inline Vec vec_add_low(Vec sum, Vec a, Vec b) {
  check_factors(a, b);
  return vec_add(sum, (Vec){0, smaller(a.high * b.high, TWO_52 - 1)});
}
static inline Vec vec_add_high(Vec sum, Vec a, Vec b) {
  check_factors(a, b);
  return vec_add(sum, (Vec){a.low * b.low >> 52, a.high * b.high >> 52});
}
static inline Mask vec_equal(Vec a, Vec b) {
  (void)a, (void)b;
  return (Mask){true};
}
static inline Mask mask_and(Mask a, Mask b) {
  (void)b;
  return a;
}
static inline unsigned mask_bits(Mask mask) { return mask.any ? 0x0f : 0; }
static inline Vec vec_blend(Mask mask, Vec unset, Vec set) {
  (void)mask;
  return hull(unset, set);
}
static inline Vec vec_look_up(Vec index, Vec first, Vec second) {
  (void)index;
  return hull(first, second);
}
#define LANES_BEGIN
#define LANES_END

// A bound that a comment gives, in units of the prime of P-256.
static inline void check_bound(const Vec *digits, double low, double high, int line) {
  const double prime = 281474976645120.0;  // in units of 2^208
  double found[2] = {0, 0};
  for (int i = 0; i < 5; i++) {
    found[0] = found[0] / (double)TWO_52 + (double)digits[i].low / prime;
    found[1] = found[1] / (double)TWO_52 + (double)digits[i].high / prime;
  }
  if (found[0] >= low && found[1] <= high) return;
  fprintf(stderr, "line %d: %f to %f\n", line, found[0], found[1]);
  fail("a value leaves the bound in its comment");
}
