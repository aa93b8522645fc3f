// The addon: encrypts push messages in batches (RFC 8291, RFC 8188) with the OpenSSL that Node includes. If the
// processor has the instructions, it runs eight key agreements at a time. The bytes are those that
// src/protocol/message-encryption.ts makes with Node's crypto module.
//
// Every environment (main thread or worker) has its own state; threads share nothing.
#include "aes128gcm.h"
#include <node_api.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_BYTES = POINT_BYTES + AUTH_BYTES, FIXED_BYTES = SALT_BYTES + SCALAR_BYTES };
// Filling fewer of the eight lanes saves nothing: a call costs about as much as two agreements in OpenSSL.
enum { LEAST_LANES = 3, MAX_EC_OPERATIONS = 1000000 };

typedef struct {
  // cached, because in a virtual machine CPUID takes as long as encrypting two messages
  bool has_lanes;
  Curve curve;
  EVP_CIPHER *cipher;
  EVP_CIPHER_CTX *aead;
} State;

typedef struct {
  uint8_t *data;
  size_t length;
} Array;

static void free_state(napi_env env, void *data, void *hint) {
  State *state = data;
  (void)env, (void)hint;
  curve_free(&state->curve);
  EVP_CIPHER_CTX_free(state->aead);
  EVP_CIPHER_free(state->cipher);
  free(state);
}

static bool init_state(State *state) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  state->has_lanes = has_lanes() && pthread_once(&once, prepare_lanes) == 0;
  state->cipher = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
  state->aead = EVP_CIPHER_CTX_new();
  return curve_init(&state->curve) && state->cipher && state->aead;
}

// Uses the lanes, except for a remainder that is too small and for messages that hit an exception there.
static bool agree_all(State *state, Agreement *agreements, size_t count, bool uses_lanes) {
  size_t rest = count % LANES < LEAST_LANES ? count % LANES : 0, done = uses_lanes && state->has_lanes ? count - rest : 0;
  unsigned failed = done > 0 ? agree_lanes(agreements, done) : 0;
  bool is_done = agree(&state->curve, agreements + done, count - done);
  for (size_t i = 0; failed != 0 && i < done && is_done; i++) {
    if (failed >> i % LANES & 1) is_done = agree(&state->curve, &agreements[i], 1);
  }
  return is_done;
}

static bool read_array(napi_env env, napi_value value, Array *array) {
  napi_typedarray_type type;
  return napi_get_typedarray_info(env, value, &type, &array->length, (void **)&array->data, NULL, NULL) == napi_ok &&
         type == napi_uint8_array;
}

static bool overlap(Array one, Array other) {
  return other.length > 0 && one.data < other.data + other.length && other.data < one.data + one.length;
}

static napi_value throw_type(napi_env env) {
  napi_throw_type_error(env, NULL,
                        "encryptBatch takes a Uint8Array for the bodies, an array of Uint8Arrays with the plaintexts, a "
                        "Uint8Array with the keys, whether to take eight at a time, and for test vectors a "
                        "Uint8Array with salts and private keys");
  return NULL;
}

static napi_value throw_range(napi_env env) {
  napi_throw_range_error(env, NULL, "encryptBatch was given an array of the wrong length");
  return NULL;
}

static napi_value throw_overlap(napi_env env) {
  napi_throw_range_error(env, NULL, "encryptBatch cannot write to memory that it reads from");
  return NULL;
}

static napi_value throw_private_key(napi_env env) {
  napi_throw_range_error(env, NULL, "encryptBatch was given a private key that is not from 1 to n-1");
  return NULL;
}

// Returns the indices of the messages whose p256dh is not a point on the curve, or undefined if there are none.
static napi_value list_refused(napi_env env, const Agreement *agreements, size_t count) {
  napi_value list, index;
  uint32_t length = 0;
  napi_get_undefined(env, &list);
  for (size_t i = 0; i < count; i++) {
    if (agreements[i].is_point) continue;
    if (length == 0) napi_create_array(env, &list);
    napi_create_uint32(env, (uint32_t)i, &index);
    napi_set_element(env, list, length++, index);
  }
  return list;
}

// encryptBatch(bodies, plaintexts, keys, usesMultiBuffer, fixed?) writes the bodies one after the other, each 103
// bytes longer than its plaintext. `keys` has p256dh(65) ‖ auth(16) for each message. `fixed`, for test vectors only,
// has salt(16) ‖ private key(32) for each message. Returns the indices of the messages whose p256dh is not a point;
// their bodies are zeros.
static napi_value encrypt_batch(napi_env env, napi_callback_info call) {
  State *state;
  napi_value arguments[5], elements[MAX_BATCH];
  size_t count = 5;
  uint32_t messages = 0;
  bool is_array = false, uses_lanes = false;
  Array bodies, keys, fixed = {NULL, 0}, plaintext;
  Bytes plaintexts[MAX_BATCH];
  Agreement agreements[MAX_BATCH];
  napi_get_instance_data(env, (void **)&state);
  napi_get_cb_info(env, call, &count, arguments, NULL, NULL);
  if (count < 4 || napi_is_array(env, arguments[1], &is_array) != napi_ok || !is_array ||
      napi_get_array_length(env, arguments[1], &messages) != napi_ok) {
    return throw_type(env);
  }
  if (messages < 1 || messages > MAX_BATCH) return throw_range(env);
  // An element may be a getter that runs JavaScript and shrinks any of the arrays. So read all elements first, and
  // take pointers only afterwards, when no more JavaScript can run.
  for (uint32_t i = 0; i < messages; i++) {
    if (napi_get_element(env, arguments[1], i, &elements[i]) != napi_ok) return throw_type(env);
  }
  if (!read_array(env, arguments[0], &bodies) || !read_array(env, arguments[2], &keys) ||
      napi_get_value_bool(env, arguments[3], &uses_lanes) != napi_ok ||
      (count > 4 && !read_array(env, arguments[4], &fixed))) {
    return throw_type(env);
  }
  if (keys.length != messages * KEYS_BYTES || (count > 4 && fixed.length != messages * FIXED_BYTES)) {
    return throw_range(env);
  }
  size_t wanted = 0;
  for (uint32_t i = 0; i < messages; i++) {
    if (!read_array(env, elements[i], &plaintext)) return throw_type(env);
    if (plaintext.length > RECORD_SIZE - OVERHEAD_BYTES) return throw_range(env);
    if (overlap(bodies, plaintext)) return throw_overlap(env);
    plaintexts[i] = (Bytes){plaintext.data, plaintext.length};
    agreements[i].peer = keys.data + i * KEYS_BYTES;
    wanted += plaintext.length + OVERHEAD_BYTES;
  }
  if (bodies.length != wanted) return throw_range(env);
  if (overlap(bodies, keys) || overlap(bodies, fixed)) return throw_overlap(env);
  for (uint32_t i = 0; count > 4 && i < messages; i++) {
    if (!is_private_key(fixed.data + i * FIXED_BYTES + SALT_BYTES)) return throw_private_key(env);
  }

  ERR_set_mark();
  uint8_t salts[MAX_BATCH * SALT_BYTES];
  bool is_done = count > 4 || (RAND_bytes(salts, (int)messages * SALT_BYTES) > 0 && draw_private_keys(agreements, messages));
  for (uint32_t i = 0; count > 4 && i < messages; i++) {
    memcpy(salts + i * SALT_BYTES, fixed.data + i * FIXED_BYTES, SALT_BYTES);
    memcpy(agreements[i].private_key, fixed.data + i * FIXED_BYTES + SALT_BYTES, SCALAR_BYTES);
  }
  is_done = is_done && agree_all(state, agreements, messages, uses_lanes) &&
            EVP_EncryptInit_ex2(state->aead, state->cipher, NULL, NULL, NULL);
  uint8_t *body = bodies.data;
  for (uint32_t i = 0; i < messages && is_done; i++) {
    const uint8_t *auth = agreements[i].peer + POINT_BYTES;
    if (agreements[i].is_point) {
      memcpy(body, salts + i * SALT_BYTES, SALT_BYTES);
      is_done = seal(state->aead, &agreements[i], auth, plaintexts[i], body);
    } else {
      memset(body, 0, plaintexts[i].length + OVERHEAD_BYTES);
    }
    body += plaintexts[i].length + OVERHEAD_BYTES;
  }
  EVP_CIPHER_CTX_reset(state->aead);  // wipes the last key
  napi_value refused = is_done ? list_refused(env, agreements, messages) : NULL;
  OPENSSL_cleanse(agreements, messages * sizeof *agreements);
  ERR_pop_to_mark();  // otherwise Node would find our errors in the queue
  if (!is_done) napi_throw_error(env, NULL, "OpenSSL could not encrypt the messages");
  return refused;
}

// hasMultiBuffer(): whether this build and this processor can run eight key agreements at a time.
static napi_value tell_multi_buffer(napi_env env, napi_callback_info call) {
  State *state;
  napi_value result;
  (void)call;
  napi_get_instance_data(env, (void **)&state);
  napi_get_boolean(env, state->has_lanes, &result);
  return result;
}

// runEcOperations(messages, usesMultiBuffer) makes one fresh key pair and one shared secret per message, by OpenSSL
// or in lanes. No Web Push sender can do less, so a benchmark times it as the upper bound.
static napi_value run_ec_operations(napi_env env, napi_callback_info call) {
  State *state;
  napi_value arguments[2];
  size_t count = 2;
  double messages = 0;
  bool uses_lanes = false;
  Agreement agreements[MAX_BATCH];
  uint8_t peer[POINT_BYTES];
  napi_get_instance_data(env, (void **)&state);
  napi_get_cb_info(env, call, &count, arguments, NULL, NULL);
  if (count < 2 || napi_get_value_double(env, arguments[0], &messages) != napi_ok ||
      napi_get_value_bool(env, arguments[1], &uses_lanes) != napi_ok) {
    napi_throw_type_error(env, NULL, "runEcOperations takes a number of messages, and whether to take eight at a time");
    return NULL;
  }
  if (!(messages >= 1 && messages <= MAX_EC_OPERATIONS) || messages != (int)messages) {
    napi_throw_range_error(env, NULL, "runEcOperations takes a whole number of messages from 1 to 1000000");
    return NULL;
  }
  const EC_GROUP *group = state->curve.group;
  bool is_done = EC_POINT_point2oct(group, EC_GROUP_get0_generator(group), POINT_CONVERSION_UNCOMPRESSED, peer,
                                    POINT_BYTES, NULL) == POINT_BYTES;
  for (size_t i = 0; i < MAX_BATCH; i++) agreements[i].peer = peer;
  for (size_t left = (size_t)messages; left > 0 && is_done;) {
    size_t some = left < MAX_BATCH ? left : MAX_BATCH;
    is_done = draw_private_keys(agreements, some) && agree_all(state, agreements, some, uses_lanes);
    left -= some;
  }
  OPENSSL_cleanse(agreements, sizeof agreements);
  if (!is_done) napi_throw_error(env, NULL, "OpenSSL failed");
  return NULL;
}

NAPI_MODULE_INIT() {
  napi_value function;
  State *state = calloc(1, sizeof *state);
  if (state == NULL || !init_state(state)) {
    if (state != NULL) free_state(env, state, NULL);
    napi_throw_error(env, NULL, "OpenSSL does not offer what the accelerator needs");
    return NULL;
  }
  napi_set_instance_data(env, state, free_state, NULL);
  napi_create_function(env, "encryptBatch", NAPI_AUTO_LENGTH, encrypt_batch, NULL, &function);
  napi_set_named_property(env, exports, "encryptBatch", function);
  napi_create_function(env, "hasMultiBuffer", NAPI_AUTO_LENGTH, tell_multi_buffer, NULL, &function);
  napi_set_named_property(env, exports, "hasMultiBuffer", function);
  napi_create_function(env, "runEcOperations", NAPI_AUTO_LENGTH, run_ec_operations, NULL, &function);
  napi_set_named_property(env, exports, "runEcOperations", function);
  return exports;
}
