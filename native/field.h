// The field of P-256, eight elements at a time: integers modulo p = 2^256 - 2^224 + 2^192 + 2^96 - 1 (FIPS 186-5, SP
// 800-186 §3.2.1.3) in Montgomery form with R = 2^260 (Montgomery 1985). An element has five digits of 52 bits, the
// least significant first.
//
// An element is *carried* if each digit is at least 0 and below 2^52. Its value is below 2^260 = 16 p, but may exceed
// p. Only carried elements can be multiplied. `reduce`, sums and differences give signed digits of up to 64 bits;
// `carry` needs a value that is at least 0 and below 2^260. A test proves the bounds in p256_lanes.c: it runs the
// source with intervals instead of numbers, and finds no overflow (test/accelerator/intervals.h).
#pragma once
#include "lanes.h"
#include <stddef.h>

enum { DIGITS = 5, DIGIT_BITS = 52 };
static const uint64_t DIGIT_MASK = ((uint64_t)1 << DIGIT_BITS) - 1;

// Loops whose counters select registers must be unrolled at every optimisation level.
#ifdef __clang__
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 10")
#endif
#define FOR_DIGITS(i) UNROLLED for (int i = 0; i < DIGITS; i++)

typedef struct {
  Vec digits[DIGITS];
} Element;

// The columns of a product. Column i counts 2^(52 i) and is at least -2^63 and below 2^63.
typedef struct {
  Vec columns[2 * DIGITS];
} Product;

static const uint64_t PRIME[DIGITS] = {0xfffffffffffff, 0x00fffffffffff, 0, 0x0001000000000, 0x0ffffffff0000};
static const uint64_t ZERO[DIGITS] = {0};
// 1, R and 1/2 in Montgomery form.
static const uint64_t ONE[DIGITS] = {0x0000000000010, 0xf000000000000, 0xfffffffffffff, 0xffeffffffffff, 0x00000000fffff};
static const uint64_t R[DIGITS] = {0x0000000000300, 0xffffffff00000, 0xffffefffffffb, 0xfdfffffffffff, 0x0000004ffffff};
static const uint64_t HALF[DIGITS] = {0x0000000000008, 0xf800000000000, 0xfffffffffffff, 0xfff7fffffffff, 0x000000007ffff};

LANES_BEGIN

static inline Element constant(const uint64_t *digits) {
  Element a;
  FOR_DIGITS(i) a.digits[i] = vec_all(digits[i]);
  return a;
}

static inline Element add(Element a, Element b) {
  FOR_DIGITS(i) a.digits[i] = vec_add(a.digits[i], b.digits[i]);
  return a;
}

static inline Element sub(Element a, Element b) {
  FOR_DIGITS(i) a.digits[i] = vec_sub(a.digits[i], b.digits[i]);
  return a;
}

static inline Element twice(Element a) { return add(a, a); }

static inline Element negative(Element a) {
  FOR_DIGITS(i) a.digits[i] = vec_sub(vec_all(0), a.digits[i]);
  return a;
}

static inline Element blend(Mask mask, Element unset, Element set) {
  FOR_DIGITS(i) unset.digits[i] = vec_blend(mask, unset.digits[i], set.digits[i]);
  return unset;
}

// a + count p
static inline Element add_primes(Element a, uint64_t count) {
  a.digits[0] = vec_add(a.digits[0], vec_all(count * PRIME[0]));
  a.digits[1] = vec_add(a.digits[1], vec_all(count * PRIME[1]));
  a.digits[3] = vec_add(a.digits[3], vec_all(count * PRIME[3]));
  a.digits[4] = vec_add(a.digits[4], vec_all(count * PRIME[4]));
  return a;
}

static inline Element carry(Element a) {
  UNROLLED for (int i = 0; i < DIGITS - 1; i++) {
    a.digits[i + 1] = vec_add(a.digits[i + 1], vec_right_signed(a.digits[i], DIGIT_BITS));
    a.digits[i] = vec_and(a.digits[i], vec_all(DIGIT_MASK));
  }
  return a;
}

// Carries a value of at least 0 and subtracts multiples of p until it is below p (1 + 2^-30). With q = floor(a /
// 2^256) or one less, a - q p = a - q 2^256 + q (2^224 - 2^192 - 2^96 + 1). q is computed with the highest digit
// reduced by 2^17, so that this digit stays positive when lower ones borrow from it.
static inline Element carry_small(Element a) {
  const uint64_t spare = 1 << 17;
  Vec top = vec_add(a.digits[4], vec_right_signed(a.digits[3], DIGIT_BITS));
  top = vec_sub(top, vec_all(spare));
  Vec q = vec_right_signed(top, 48);  // -1 to 15
  a.digits[0] = vec_add(a.digits[0], q);
  a.digits[1] = vec_sub(a.digits[1], vec_left(q, 44));
  a.digits[3] = vec_sub(vec_and(a.digits[3], vec_all(DIGIT_MASK)), vec_left(q, 36));
  a.digits[4] = vec_add(vec_and(top, vec_all(((uint64_t)1 << 48) - 1)), vec_all(spare));
  a.digits[4] = vec_add(a.digits[4], vec_left(q, 16));
  return carry(a);
}

static inline Product no_product(void) {
  Product sum;
  UNROLLED for (int i = 0; i < 2 * DIGITS; i++) sum.columns[i] = vec_all(0);
  return sum;
}

// sum + a b. The operands are carried.
static inline Product add_product(Product sum, Element a, Element b) {
  FOR_DIGITS(i) {
    FOR_DIGITS(j) sum.columns[i + j] = vec_add_low(sum.columns[i + j], a.digits[i], b.digits[j]);
    FOR_DIGITS(j) sum.columns[i + j + 1] = vec_add_high(sum.columns[i + j + 1], a.digits[i], b.digits[j]);
  }
  return sum;
}

static inline Product product(Element a, Element b) { return add_product(no_product(), a, b); }

static inline Product square(Element a) {
  Product sum = no_product();
  FOR_DIGITS(i) {
    UNROLLED for (int j = i + 1; j < DIGITS; j++) {
      sum.columns[i + j] = vec_add_low(sum.columns[i + j], a.digits[i], a.digits[j]);
      sum.columns[i + j + 1] = vec_add_high(sum.columns[i + j + 1], a.digits[i], a.digits[j]);
    }
  }
  UNROLLED for (int i = 1; i < 2 * DIGITS - 1; i++) sum.columns[i] = vec_add(sum.columns[i], sum.columns[i]);
  FOR_DIGITS(i) {
    sum.columns[2 * i] = vec_add_low(sum.columns[2 * i], a.digits[i], a.digits[i]);
    sum.columns[2 * i + 1] = vec_add_high(sum.columns[2 * i + 1], a.digits[i], a.digits[i]);
  }
  return sum;
}

static inline Product minus(Product a) {
  UNROLLED for (int i = 0; i < 2 * DIGITS; i++) a.columns[i] = vec_sub(vec_all(0), a.columns[i]);
  return a;
}

// (t + m p) / R, for the m below R that makes it an integer: more than t / R, and at most t / R + p. Since p = -1
// modulo 2^96, each digit of m is the lowest remaining digit d, and d p = d 2^96 - d + d (p_3 2^156 + p_4 2^208). The
// low part of d 2^44 goes to the next digit, where a shift is faster than a multiplication.
static inline Element reduce(Product t) {
  Element result;
  FOR_DIGITS(i) {
    Vec *column = &t.columns[i];
    Vec digit = vec_factor(column[0]);
    column[1] = vec_add(column[1], vec_right_signed(column[0], DIGIT_BITS));
    column[1] = vec_add(column[1], vec_and(vec_left(column[0], 44), vec_all(DIGIT_MASK)));
    column[2] = vec_add_high(column[2], digit, vec_all((uint64_t)1 << 44));
    column[3] = vec_add_low(column[3], digit, vec_all(PRIME[3]));
    column[4] = vec_add_high(column[4], digit, vec_all(PRIME[3]));
    column[4] = vec_add_low(column[4], digit, vec_all(PRIME[4]));
    column[5] = vec_add_high(column[5], digit, vec_all(PRIME[4]));
  }
  FOR_DIGITS(i) result.digits[i] = t.columns[DIGITS + i];
  return result;
}

// Called outside the inner loops; not inlined, to keep the code small.
static __attribute__((noinline)) void multiply(Element *result, const Element *a, const Element *b) {
  *result = carry(reduce(product(*a, *b)));
}

// a^(2^count), count at least 1
static __attribute__((noinline)) void square_times(Element *result, const Element *a, int count) {
  Element power = *a;
  for (int i = 0; i < count; i++) power = carry(reduce(square(power)));
  *result = power;
}

// result = a^(2^count) b
static void square_times_multiply(Element *result, const Element *a, int count, const Element *b) {
  Element power;
  square_times(&power, a, count);
  multiply(result, &power, b);
}

// a^(p-2) = 1/a (Fermat); 0 for 0.  p - 2 = ffffffff 00000001 00000000 00000000 00000000 ffffffff ffffffff fffffffd
static void invert(Element *result, const Element *a) {
  Element x2, x6, x30, x32, power;  // xn = a^(2^n - 1)
  square_times_multiply(&x2, a, 1, a);
  square_times_multiply(&power, &x2, 2, &x2);
  square_times_multiply(&x6, &power, 2, &x2);
  square_times_multiply(&power, &x6, 6, &x6);
  square_times_multiply(&power, &power, 12, &power);
  square_times_multiply(&x30, &power, 6, &x6);
  square_times_multiply(&x32, &x30, 2, &x2);
  square_times_multiply(&power, &x32, 32, a);
  square_times_multiply(&power, &power, 128, &x32);
  square_times_multiply(&power, &power, 32, &x32);
  square_times_multiply(&power, &power, 30, &x30);
  square_times_multiply(result, &power, 2, a);
}

static Mask is_equal(Element a, Element b) {
  Mask equal = vec_equal(a.digits[0], b.digits[0]);
  for (int i = 1; i < DIGITS; i++) equal = mask_and(equal, vec_equal(a.digits[i], b.digits[i]));
  return equal;
}

// Converts from Montgomery form to the carried representative from 0 to p-1. For a nonzero input, `reduce` gives more
// than 0 and at most p.
static Element to_integer(Element a) {
  Product t = no_product();
  FOR_DIGITS(i) t.columns[i] = a.digits[i];
  Element integer = carry(reduce(t));
  return blend(is_equal(integer, constant(PRIME)), integer, constant(ZERO));
}

static Mask is_zero(Element a) { return is_equal(to_integer(a), constant(ZERO)); }

// 1/a for each of `count` elements (1 to MAX_INVERTED), with one inversion (Montgomery 1987 §10.3.1). Returns the
// lanes in which an element is 0; their results are 0.
enum { MAX_INVERTED = 16 };
static Mask invert_all(Element *elements, size_t count) {
  Element products[MAX_INVERTED], inverse, element;
  products[0] = elements[0];
  for (size_t i = 1; i < count; i++) multiply(&products[i], &products[i - 1], &elements[i]);
  invert(&inverse, &products[count - 1]);
  for (size_t i = count - 1; i > 0; i--) {
    element = elements[i];
    multiply(&elements[i], &products[i - 1], &inverse);
    multiply(&inverse, &inverse, &element);
  }
  elements[0] = inverse;
  return is_zero(products[count - 1]);
}

LANES_END
