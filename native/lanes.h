// Eight 64-bit lanes: the dozen operations that field.h and p256_lanes.c use. They are AVX-512 IFMA instructions,
// unless the header LANES_HEADER replaces them with portable C or with a checker (test/accelerator/).
#pragma once
#include <stdint.h>

#if defined LANES_HEADER
#define HAS_LANES 1
#include LANES_HEADER

#elif defined __x86_64__ && defined __linux__
#define HAS_LANES 1
#define LANES_NEED_IFMA 1
#include <cpuid.h>
#include <immintrin.h>
// Functions between these two macros may use the instructions. Call them only if the processor has them.
#ifdef __clang__
#define LANES_BEGIN \
  _Pragma("clang attribute push(__attribute__((target(\"avx512f,avx512ifma\"))), apply_to = function)")
#define LANES_END _Pragma("clang attribute pop")
#else
#define LANES_BEGIN _Pragma("GCC push_options") _Pragma("GCC target(\"avx512f,avx512ifma\")")
#define LANES_END _Pragma("GCC pop_options")
#endif

typedef __m512i Vec;
typedef __mmask8 Mask;

LANES_BEGIN
static inline Vec vec_load(const uint64_t *from) { return _mm512_loadu_si512(from); }
static inline void vec_store(uint64_t *to, Vec a) { _mm512_storeu_si512(to, a); }
static inline Vec vec_all(uint64_t value) { return _mm512_set1_epi64((long long)value); }
static inline Vec vec_add(Vec a, Vec b) { return _mm512_add_epi64(a, b); }
static inline Vec vec_sub(Vec a, Vec b) { return _mm512_sub_epi64(a, b); }
static inline Vec vec_and(Vec a, Vec b) { return _mm512_and_si512(a, b); }
static inline Vec vec_left(Vec a, unsigned bits) { return _mm512_slli_epi64(a, bits); }
static inline Vec vec_right(Vec a, unsigned bits) { return _mm512_srli_epi64(a, bits); }
static inline Vec vec_right_signed(Vec a, unsigned bits) { return _mm512_srai_epi64(a, bits); }
// The two multiplications ignore bits above the low 52, so there is nothing to mask here.
static inline Vec vec_factor(Vec a) { return a; }
static inline Vec vec_add_low(Vec sum, Vec a, Vec b) { return _mm512_madd52lo_epu64(sum, a, b); }
static inline Vec vec_add_high(Vec sum, Vec a, Vec b) { return _mm512_madd52hi_epu64(sum, a, b); }
static inline Mask vec_equal(Vec a, Vec b) { return _mm512_cmpeq_epi64_mask(a, b); }
static inline Mask mask_and(Mask a, Mask b) { return (Mask)(a & b); }
static inline unsigned mask_bits(Mask mask) { return mask; }
static inline Vec vec_blend(Mask mask, Vec unset, Vec set) { return _mm512_mask_blend_epi64(mask, unset, set); }
static inline Vec vec_look_up(Vec index, Vec first, Vec second) {
  return _mm512_permutex2var_epi64(first, index, second);
}
LANES_END
#endif
