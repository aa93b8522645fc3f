// Ephemeral ECDH on P-256 for up to 64 messages, eight at a time: key pairs and shared secrets.
//
// A point (x, y) is kept in Jacobian coordinates with w = 2 y instead of y: (X, W, Z) with x = X/Z^2 and 2 y = W/Z^3.
// Doubling and adding then need no division by two and little doubling. The digits of the scalars are odd and signed,
// so each step adds a point and no digit is zero. The sequence of instructions and of addresses is the same for every
// key.
#include "p256.h"
#include "lanes.h"

#ifdef HAS_LANES
#include "field.h"
#include <openssl/crypto.h>
#include <string.h>

enum { WORDS = 4, GROUPS = MAX_BATCH / LANES };
// Multiples of the peer are looked up by four bits of the scalar, multiples of the base point by seven.
enum { PEER_BITS = 4, PEER_DIGITS = 64, PEER_POINTS = 8 };
enum { BASE_BITS = 7, BASE_DIGITS = 37, BASE_VECTORS = 8 };
enum { STACK_BYTES = 32768 };

// SEC 2 §2.4.2: the order of the group, the least significant word first.
static const uint64_t ORDER[WORDS] = {0xf3b9cac2fc632551, 0xbce6faada7179e84, 0xffffffffffffffff, 0xffffffff00000000};
// In Montgomery form: b in the curve's equation y^2 = x^3 - 3 x + b, and x and 2 y of the base point.
static const uint64_t CURVE_B[DIGITS] = {0xdf6229c4bddfd, 0xca8843090d89c, 0x212ed6acf005c, 0x83415a220abf7, 0x0c30061dd4874};
static const uint64_t BASE_X[DIGITS] = {0x30d418a9143c1, 0xc4fedb60179e7, 0x62251075ba95f, 0x5c669fb732b77, 0x08905f76b5375};
static const uint64_t BASE_W[DIGITS] = {0xa6af9d2aac150, 0x87433c8b9bbe4, 0x43e64b169571c, 0xb0aa5d10d11ba, 0x0ae3fe314b10b};

typedef struct {
  Element x, w;
} Affine;

typedef struct {
  Element x, w, z;
} Point;

// One number from each of eight messages, in 64-bit words.
typedef struct {
  _Alignas(64) uint64_t words[WORDS][LANES];
} Words;

// The state of eight messages.
typedef struct {
  Words scalars;                   // whichever of private key k and order - k is odd, halved
  _Alignas(64) uint64_t is_negated[LANES];  // whether it is order - k
  Affine peer[PEER_POINTS];        // 1, 3, .. 15 times the peer's point
  Element ratios[PEER_POINTS];     // each z divided by the previous one
  Point public_key, shared;
} Group;

typedef struct {
  Group groups[GROUPS];
  Element inverses[2 * GROUPS];
} Work;

// For each place 7 i, the x and w of 1, 3, .. 127 times 2^(7 i) G, digit by digit.
static Vec base_table[BASE_DIGITS][2][DIGITS][BASE_VECTORS];

bool has_lanes(void) {
#ifdef LANES_NEED_IFMA
  unsigned a, b, c, d, low, high;
  const unsigned saved = 0xe6;  // XCR0: SSE, AVX, and the three parts of AVX-512
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return false;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & saved) == saved && __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_AVX512F && b & bit_AVX512IFMA;
#else
  return true;
#endif
}

LANES_BEGIN

// Doubling by the formulas of Cohen, Miyaji and Ono (1998) for a = -3, with w = 2 y.
// In: x < 1.01 p, w < 5.72 p, z < 3.28 p. Out: x < 1.01 p, w < 3.44 p, z < 1.73 p.
static inline __attribute__((always_inline)) Point double_once(Point q) {
  Element delta = reduce(square(q.z));                                       // z^2, < 1.39 p
  Element sum = carry(add(q.x, delta));                                      // x + z^2, < 2.39 p
  Element difference = carry(add_primes(sub(q.x, delta), 2));                // x - z^2, < 3.08 p
  Element slope = reduce(product(sum, difference));                          // < 1.45 p
  slope = carry(add(twice(slope), slope));                                   // 3 (x^2 - z^4), < 4.35 p
  Element gamma = carry(reduce(square(q.w)));                                // w^2, < 2.37 p
  Element beta = reduce(product(q.x, gamma));                                // x w^2, < 1.15 p
  Element x = reduce(square(slope));                                         // < 2.18 p
  x = carry_small(add_primes(sub(x, twice(beta)), 3));                       // < 1.01 p
  Element e = carry(add_primes(twice(sub(beta, x)), 3));                     // 2 (x w^2 - x'), < 5.30 p
  Element z = carry(reduce(product(q.w, q.z)));                              // < 1.73 p
  Element w = reduce(add_product(minus(square(gamma)), slope, e));           // slope e - w^4, -0.35 to 2.44 p
  return (Point){x, carry(add_primes(w, 1)), z};
}

// Adds an affine point, or subtracts it if `is_negative` (madd-2007-bl of the Explicit-Formulas Database, with w = 2
// y). If the points are equal or opposite, z becomes 0, and stays 0 in everything computed from this point.
static inline __attribute__((always_inline)) Point add_affine(Point q, Affine a, Mask is_negative) {
  Element zz = carry(reduce(square(q.z)));                                   // < 1.68 p
  Element h = reduce(product(a.x, zz));                                      // < 1.12 p
  h = carry(add_primes(sub(h, q.x), 2));                                     // a.x z^2 - x, < 3.12 p
  Element zzz = carry(reduce(product(q.z, zz)));                             // < 1.35 p
  Element s = reduce(product(a.w, zzz));                                     // < 1.12 p
  s = blend(is_negative, s, negative(s));                                    // -1.12 to 1.12 p
  Element r = carry(add_primes(sub(s, q.w), 7));                             // a.w z^3 - w, < 8.11 p
  Element i = reduce(square(h));                                             // < 1.61 p
  i = carry(twice(twice(i)));                                                // 4 h^2, < 6.43 p
  Element j = reduce(product(h, i));                                         // 4 h^3, < 2.25 p
  Element v = reduce(product(q.x, i));                                       // 4 x h^2, < 1.43 p
  Element n = carry(add_primes(negative(twice(j)), 5));                      // -8 h^3, < 4.98 p
  Element x = reduce(square(r));                                             // < 5.11 p
  x = carry_small(add_primes(sub(sub(x, j), twice(v)), 6));                  // r^2 - j - 2 v, < 1.01 p
  Element e = carry(add_primes(twice(sub(v, x)), 3));                        // 2 (v - x'), < 5.86 p
  Element w = carry(reduce(add_product(product(r, e), q.w, n)));             // r e - w 8 h^3, < 5.72 p
  Element z = carry(twice(reduce(product(q.z, h))));                         // < 3.28 p
  return (Point){x, w, z};
}

static __attribute__((noinline)) void double_times(Point *q, int count) {
  for (int i = 0; i < count; i++) *q = double_once(*q);
}

static __attribute__((noinline)) void add_to(Point *q, const Affine *a, Mask is_negative) {
  *q = add_affine(*q, *a, is_negative);
}

// x/z^2 and w/z^3 from 1/z.
static void divide(Affine *result, const Element *x, const Element *w, const Element *inverse) {
  Element power;
  multiply(&power, inverse, inverse);
  multiply(&result->x, x, &power);
  multiply(&power, &power, inverse);
  multiply(&result->w, w, &power);
}

// Computes 1, 3, .. 15 times the point peer[0], each with the previous z times its ratio. Returns the last z first.
// Meloni (2007): for two points with the same z, five products and two squares give the sum, and the first point with
// the z of the sum.
static void multiply_odd(Group *group, Element *z) {
  Affine *odd = group->peer;
  Point doubled = {odd[0].x, odd[0].w, constant(ONE)};
  double_times(&doubled, 1);
  // P with the z of 2 P, which is w: x w^2 and w w^3
  Affine other;
  Element power;
  *z = odd[0].w;
  multiply(&power, z, z);
  multiply(&odd[0].x, &odd[0].x, &power);
  multiply(&odd[0].w, &power, &power);
  group->ratios[0] = *z;
  other = (Affine){doubled.x, doubled.w};
  for (int i = 1; i < PEER_POINTS; i++) {
    Affine *sum = &odd[i], last = odd[i - 1];
    Element h = carry(add_primes(sub(other.x, last.x), 2));                  // < 3.90 p
    Element hh = reduce(square(h));                                          // < 1.95 p
    hh = carry(twice(twice(hh)));                                            // < 7.80 p
    Element u = carry(reduce(product(other.x, hh)));                         // < 1.93 p
    Element v = carry(reduce(product(last.x, hh)));                          // < 1.49 p
    Element r = carry(add_primes(sub(other.w, last.w), 2));                  // < 5.86 p
    Element difference = carry(add_primes(sub(u, v), 2));                    // < 3.93 p
    Element a = reduce(product(other.w, difference));                        // < 1.95 p
    sum->x = reduce(square(r));                                              // < 3.15 p
    sum->x = carry_small(add_primes(sub(sum->x, add(u, v)), 4));             // < 1.01 p
    Element e = carry(add_primes(twice(sub(u, sum->x)), 3));                 // < 6.85 p
    sum->w = reduce(product(r, e));                                          // < 3.51 p
    sum->w = carry_small(add_primes(sub(sum->w, twice(a)), 5));              // < 1.01 p
    other = (Affine){u, carry(twice(a))};
    group->ratios[i] = carry(twice(h));
    multiply(z, z, &group->ratios[i]);
  }
}

// Brings all of them to z = 1, given the inverse of the last z.
static void divide_odd(Group *group, Element *inverse) {
  for (int i = PEER_POINTS - 1; i >= 0; i--) {
    divide(&group->peer[i], &group->peer[i].x, &group->peer[i].w, inverse);
    multiply(inverse, inverse, &group->ratios[i]);
  }
}

// Selects the point with the given index (0 to 7) in each lane. Reads all of them, to be constant-time.
static Affine select_peer(const Affine *points, Vec index) {
  Affine selected = points[0];
  for (unsigned i = 1; i < PEER_POINTS; i++) {
    Mask is_it = vec_equal(index, vec_all(i));
    selected.x = blend(is_it, selected.x, points[i].x);
    selected.w = blend(is_it, selected.w, points[i].w);
  }
  return selected;
}

// Selects one of 64 numbers in each lane. Reads all of them, to be constant-time.
static Vec look_up_digit(const Vec *numbers, Vec index, Mask is_16, Mask is_32) {
  Vec low = vec_look_up(index, numbers[0], numbers[1]), high = vec_look_up(index, numbers[4], numbers[5]);
  low = vec_blend(is_16, low, vec_look_up(index, numbers[2], numbers[3]));
  high = vec_blend(is_16, high, vec_look_up(index, numbers[6], numbers[7]));
  return vec_blend(is_32, low, high);
}

static Affine select_base(int place, Vec index) {
  Affine selected;
  Mask is_16 = vec_equal(vec_and(index, vec_all(16)), vec_all(16)), is_32 = vec_equal(vec_and(index, vec_all(32)), vec_all(32));
  FOR_DIGITS(i) {
    selected.x.digits[i] = look_up_digit(base_table[place][0][i], index, is_16, is_32);
    selected.w.digits[i] = look_up_digit(base_table[place][1][i], index, is_16, is_32);
  }
  return selected;
}

// Extracts `bits` bits of each number, starting at `place`.
static Vec bits_at(const Words *numbers, int place, int bits) {
  int word = place / 64, shift = place % 64;
  Vec mask = vec_all(((uint64_t)1 << bits) - 1), found = vec_right(vec_load(numbers->words[word]), (unsigned)shift);
  if (shift + bits > 64 && word + 1 < WORDS) {
    found = vec_add(found, vec_and(vec_left(vec_load(numbers->words[word + 1]), (unsigned)(64 - shift)), mask));
  }
  return vec_and(found, mask);
}

// A digit D of s = (k - 1) / 2 + 2^(L - 1), for an odd k below 2^L, stands for the odd number d = 2 D - (2^bits - 1).
// These numbers add up to k, because 2 s - (2^L - 1) = k. Sets the index of |d| among 1, 3, 5, .. and returns whether
// d is negative.
static Mask read_digit(const Words *scalars, int place, int bits, Vec *index) {
  Vec half = vec_all((uint64_t)1 << (bits - 1)), digit = bits_at(scalars, place, bits);
  Mask is_negative = vec_equal(vec_and(digit, half), vec_all(0));
  Vec rest = vec_and(digit, vec_all(((uint64_t)1 << (bits - 1)) - 1));
  *index = vec_blend(is_negative, rest, vec_sub(vec_all(((uint64_t)1 << (bits - 1)) - 1), rest));
  return is_negative;
}

// Before each addition the sum is an even multiple of the peer's point, and the digit is an odd one of at most 15.
// They meet only if the sum is the order minus 1 and the digit -1, at the last digit of the order minus 2. With seven
// bits they never meet.
//
// The highest digits have their highest bit set, so they are positive; bits 252 to 254 of s then give an index of 0
// to 7.
static void multiply_peer(Point *result, const Group *group) {
  Affine selected = select_peer(group->peer, bits_at(&group->scalars, 252, 3));
  *result = (Point){selected.x, selected.w, constant(ONE)};
  for (int i = PEER_DIGITS - 2; i >= 0; i--) {
    Vec index;
    Mask is_negative = read_digit(&group->scalars, PEER_BITS * i, PEER_BITS, &index);
    selected = select_peer(group->peer, index);
    double_times(result, PEER_BITS);
    add_to(result, &selected, is_negative);
  }
}

static void multiply_base(Point *result, const Words *scalars) {
  Affine selected = select_base(BASE_DIGITS - 1, bits_at(scalars, BASE_BITS * (BASE_DIGITS - 1), 3));
  *result = (Point){selected.x, selected.w, constant(ONE)};
  for (int i = BASE_DIGITS - 2; i >= 0; i--) {
    Vec index;
    Mask is_negative = read_digit(scalars, BASE_BITS * i, BASE_BITS, &index);
    selected = select_base(i, index);
    add_to(result, &selected, is_negative);
  }
}

static void write_base(int place, int vector, const Affine *points) {
  FOR_DIGITS(i) {
    base_table[place][0][i][vector] = points->x.digits[i];
    base_table[place][1][i][vector] = points->w.digits[i];
  }
}

// Copies lane 0 to all lanes.
static Element spread(Element a) {
  FOR_DIGITS(i) a.digits[i] = vec_look_up(vec_all(0), a.digits[i], a.digits[i]);
  return a;
}

void prepare_lanes(void) {
  static const uint64_t lane_numbers[LANES] = {0, 1, 2, 3, 4, 5, 6, 7};
  Group group;
  Point points[BASE_VECTORS], next;
  Element inverses[BASE_VECTORS];
  Affine step, odd;
  group.peer[0] = (Affine){constant(BASE_X), constant(BASE_W)};
  multiply_odd(&group, inverses);
  invert_all(inverses, 1);
  divide_odd(&group, inverses);
  // 1, 3, .. 15 times 2^(7 place) G
  Affine first = select_peer(group.peer, vec_load(lane_numbers));
  for (int place = 0; place < BASE_DIGITS; place++) {
    points[0] = next = (Point){first.x, first.w, constant(ONE)};
    double_times(&next, 4);
    Point sixteen = {spread(next.x), spread(next.w), spread(next.z)};
    double_times(&next, BASE_BITS - 4);
    inverses[0] = sixteen.z;
    inverses[1] = next.z;
    invert_all(inverses, 2);
    divide(&step, &sixteen.x, &sixteen.w, &inverses[0]);
    write_base(place, 0, &first);
    divide(&first, &next.x, &next.w, &inverses[1]);
    for (int i = 1; i < BASE_VECTORS; i++) {
      points[i] = points[i - 1];
      add_to(&points[i], &step, vec_equal(vec_all(0), vec_all(1)));
      inverses[i] = points[i].z;
    }
    invert_all(&inverses[1], BASE_VECTORS - 1);
    for (int i = 1; i < BASE_VECTORS; i++) {
      divide(&odd, &points[i].x, &points[i].w, &inverses[i]);
      write_base(place, i, &odd);
    }
  }
}

static void read_words(Words *numbers, size_t lane, const uint8_t *bytes) {
  for (int i = 0; i < WORDS; i++) {
    uint64_t word;
    memcpy(&word, bytes + 8 * (WORDS - 1 - i), 8);
    numbers->words[i][lane] = __builtin_bswap64(word);
  }
}

// Replaces a private key k with the odd one of k and order - k, halved. Returns 1 if it took order - k, else 0.
static uint64_t halve_odd(Words *numbers, size_t lane) {
  uint64_t is_even = (numbers->words[0][lane] & 1) - 1, borrow = 0;  // all ones or all zeros
  for (int i = 0; i < WORDS; i++) {
    uint64_t *word = &numbers->words[i][lane];
    unsigned __int128 difference = (unsigned __int128)ORDER[i] - *word - borrow;
    borrow = (uint64_t)(difference >> 64) & 1;
    *word ^= (*word ^ (uint64_t)difference) & is_even;
  }
  for (int i = 0; i < WORDS; i++) {
    numbers->words[i][lane] >>= 1;
    if (i + 1 < WORDS) numbers->words[i][lane] |= numbers->words[i + 1][lane] << 63;
  }
  return is_even & 1;
}

// Joins the high bits of one word and the low bits of the next into a digit; `bits` come from the first word.
static Vec join(Vec low, Vec high, unsigned bits) {
  return vec_add(vec_right(low, 64 - bits), vec_and(vec_left(high, bits), vec_all(DIGIT_MASK >> bits << bits)));
}

// Converts to Montgomery form.
static Element read_element(const Words *numbers) {
  Vec words[WORDS];
  Element a, r = constant(R);
  for (int i = 0; i < WORDS; i++) words[i] = vec_load(numbers->words[i]);
  a.digits[0] = vec_and(words[0], vec_all(DIGIT_MASK));
  a.digits[1] = join(words[0], words[1], 12);
  a.digits[2] = join(words[1], words[2], 24);
  a.digits[3] = join(words[2], words[3], 36);
  a.digits[4] = vec_right(words[3], 16);
  multiply(&a, &a, &r);
  return a;
}

static void write_word(uint8_t *bytes, uint64_t word) {
  word = __builtin_bswap64(word);
  memcpy(bytes, &word, 8);
}

// Converts from Montgomery form, and writes each lane's 32 bytes at an offset in its agreement.
static void write_element(Agreement *agreements, size_t offset, size_t count, const Element *element) {
  Element integer = to_integer(*element);
  _Alignas(64) uint64_t digits[DIGITS][LANES];
  for (int i = 0; i < DIGITS; i++) vec_store(digits[i], integer.digits[i]);
  for (size_t lane = 0; lane < count; lane++) {
    uint8_t *bytes = (uint8_t *)&agreements[lane] + offset;
    write_word(bytes + 24, digits[0][lane] | digits[1][lane] << 52);
    write_word(bytes + 16, digits[1][lane] >> 12 | digits[2][lane] << 40);
    write_word(bytes + 8, digits[2][lane] >> 24 | digits[3][lane] << 28);
    write_word(bytes, digits[3][lane] >> 36 | digits[4][lane] << 16);
  }
}

// Reads private keys and peers, and sets `is_point` for each message. The base point replaces a peer that is no
// point. Begins the table of the peer's multiples, and returns its last z.
static void start_group(Group *group, Agreement *agreements, size_t count, Element *z) {
  Words x, y;
  _Alignas(64) uint64_t is_point[LANES];
  for (size_t lane = 0; lane < LANES; lane++) {
    // unused lanes repeat the first message
    const Agreement *agreement = &agreements[lane < count ? lane : 0];
    is_point[lane] = is_in_field(agreement->peer);
    read_words(&group->scalars, lane, agreement->private_key);
    group->is_negated[lane] = halve_odd(&group->scalars, lane);
    read_words(&x, lane, agreement->peer + 1);
    read_words(&y, lane, agreement->peer + 1 + SCALAR_BYTES);
  }
  Element px = read_element(&x), py = read_element(&y);
  Element three = add(twice(constant(ONE)), constant(ONE));
  Element right = carry(add_primes(sub(reduce(square(px)), three), 1));      // < 2.07 p
  right = add(reduce(product(px, right)), constant(CURVE_B));                // x (x^2 - 3) + b, < 1.90 p
  unsigned on_curve = mask_bits(is_zero(carry(add_primes(sub(reduce(square(py)), right), 4))));
  for (size_t lane = 0; lane < LANES; lane++) {
    is_point[lane] &= on_curve >> lane & 1;
    if (lane < count) agreements[lane].is_point = is_point[lane];
  }
  Mask use_peer = vec_equal(vec_load(is_point), vec_all(1));
  group->peer[0].x = blend(use_peer, constant(BASE_X), px);
  group->peer[0].w = blend(use_peer, constant(BASE_W), carry(twice(py)));
  multiply_odd(group, z);
}

static void finish_group(const Group *group, const Element *inverses, Agreement *agreements, size_t count) {
  const Element half = constant(HALF);
  const size_t x = offsetof(Agreement, public_key) + 1;
  Affine point;
  divide(&point, &group->shared.x, &group->shared.w, &inverses[0]);
  write_element(agreements, offsetof(Agreement, secret), count, &point.x);
  divide(&point, &group->public_key.x, &group->public_key.w, &inverses[1]);
  multiply(&point.w, &point.w, &half);
  Mask is_negated = vec_equal(vec_load(group->is_negated), vec_all(1));
  point.w = blend(is_negated, point.w, carry(add_primes(negative(point.w), 3))); // < 3.01 p
  write_element(agreements, x, count, &point.x);
  write_element(agreements, x + SCALAR_BYTES, count, &point.w);
  for (size_t i = 0; i < count; i++) agreements[i].public_key[0] = POINT_CONVERSION_UNCOMPRESSED;
}

// Wipes what the functions below left on the stack.
static __attribute__((noinline)) void wipe_stack(void) {
  uint8_t stack[STACK_BYTES];
  OPENSSL_cleanse(stack, sizeof stack);
}

static __attribute__((noinline)) unsigned agree_groups(Work *work, Agreement *agreements, size_t count) {
  size_t groups = (count + LANES - 1) / LANES;
  for (size_t i = 0; i < groups; i++) {
    size_t left = count - i * LANES;
    start_group(&work->groups[i], agreements + i * LANES, left < LANES ? left : LANES, &work->inverses[i]);
  }
  invert_all(work->inverses, groups);
  for (size_t i = 0; i < groups; i++) {
    Group *group = &work->groups[i];
    divide_odd(group, &work->inverses[i]);
    multiply_peer(&group->shared, group);
    multiply_base(&group->public_key, &group->scalars);
  }
  for (size_t i = 0; i < groups; i++) {
    work->inverses[2 * i] = work->groups[i].shared.z;
    work->inverses[2 * i + 1] = work->groups[i].public_key.z;
  }
  unsigned failed = mask_bits(invert_all(work->inverses, 2 * groups));
  for (size_t i = 0; i < groups; i++) {
    size_t left = count - i * LANES;
    finish_group(&work->groups[i], &work->inverses[2 * i], agreements + i * LANES, left < LANES ? left : LANES);
  }
  return failed;
}

unsigned agree_lanes(Agreement *agreements, size_t count) {
  Work work;
  unsigned failed = agree_groups(&work, agreements, count);
  OPENSSL_cleanse(&work, sizeof work);
  wipe_stack();
  return failed;
}

LANES_END

#else

bool has_lanes(void) { return false; }

void prepare_lanes(void) {}

unsigned agree_lanes(Agreement *agreements, size_t count) {
  (void)agreements, (void)count;
  return 0;
}

#endif
