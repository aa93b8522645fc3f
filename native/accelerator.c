// One Web Push message in one call (RFC 8291, RFC 8188), on the OpenSSL that Node itself carries. The same bytes as
// src/protocol/encryption.ts makes with Node's builtins, without their repeated validation of keys.
//
// Every environment (main thread or worker) has its own state; nothing is shared between threads.
#include <node_api.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rand.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SALT = 16, POINT = 65, SCALAR = 32, AUTH = 16, HASH = 32, TAG = 16, RECORD_SIZE = 4096 };
enum { MAX_EC_OPERATIONS = 1000000 };
enum { HEADER = SALT + 4 + 1 + POINT, OVERHEAD = HEADER + 1 + TAG };

typedef struct {
  EVP_PKEY_CTX *generator;
  EVP_PKEY *peer;  // takes the p256dh of one subscription after the other
  EVP_MAC *mac;
  EVP_MAC_CTX *hmac;
  EVP_CIPHER *cipher;
  EVP_CIPHER_CTX *aead;
} State;

typedef struct {
  uint8_t *data;
  size_t length;
} Bytes;

static void free_state(napi_env env, void *data, void *hint) {
  State *state = data;
  (void)env, (void)hint;
  EVP_PKEY_CTX_free(state->generator);
  EVP_PKEY_free(state->peer);
  EVP_MAC_CTX_free(state->hmac);
  EVP_MAC_free(state->mac);
  EVP_CIPHER_CTX_free(state->aead);
  EVP_CIPHER_free(state->cipher);
  free(state);
}

static bool init_state(State *state) {
  OSSL_PARAM digest[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, "SHA256", 0), OSSL_PARAM_END};
  state->generator = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
  state->mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
  state->hmac = state->mac ? EVP_MAC_CTX_new(state->mac) : NULL;
  state->cipher = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
  state->aead = EVP_CIPHER_CTX_new();
  return state->generator && state->hmac && state->cipher && state->aead &&
         EVP_PKEY_keygen_init(state->generator) > 0 &&
         EVP_PKEY_CTX_set_group_name(state->generator, "P-256") > 0 &&
         EVP_PKEY_generate(state->generator, &state->peer) > 0 &&
         EVP_MAC_CTX_set_params(state->hmac, digest);
}

// HMAC-SHA-256, of which HKDF is made (RFC 5869).
static bool hmac(State *state, const uint8_t *key, size_t key_length, Bytes first, Bytes second, uint8_t *out) {
  return EVP_MAC_init(state->hmac, key, key_length, NULL) &&
         EVP_MAC_update(state->hmac, first.data, first.length) &&
         EVP_MAC_update(state->hmac, second.data, second.length) && EVP_MAC_final(state->hmac, out, NULL, HASH);
}

// OpenSSL keeps the last key of a context until the next one is set: neither context may hold a message's keys for
// longer than the call. Resetting the cipher's context frees its key schedule; the MAC's takes a key of zeros instead.
static bool wipe_contexts(State *state) {
  static const uint8_t zeros[HASH];
  return (EVP_CIPHER_CTX_reset(state->aead) > 0) & (EVP_MAC_init(state->hmac, zeros, HASH, NULL) > 0);
}

#define TEXT(literal) ((Bytes){(uint8_t *)(literal), sizeof(literal) - 1})
#define NOTHING ((Bytes){(uint8_t *)"", 0})

// The pair of a test vector: the only way that a key is not fresh.
static EVP_PKEY *fixed_pair(const uint8_t *point, const uint8_t *scalar) {
  EVP_PKEY *pair = NULL;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
  OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
  BIGNUM *number = BN_bin2bn(scalar, SCALAR, NULL);
  OSSL_PARAM *parameters = NULL;
  if (context && builder && number &&
      OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0) &&
      OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, POINT) &&
      OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, number) &&
      (parameters = OSSL_PARAM_BLD_to_param(builder)) && EVP_PKEY_fromdata_init(context) > 0) {
    EVP_PKEY_fromdata(context, &pair, EVP_PKEY_KEYPAIR, parameters);
  }
  OSSL_PARAM_free(parameters);
  BN_clear_free(number);
  OSSL_PARAM_BLD_free(builder);
  EVP_PKEY_CTX_free(context);
  return pair;
}

// No validation of the peer beyond "is on the curve", which setting it has checked: P-256 has cofactor 1.
static bool derive(EVP_PKEY *pair, EVP_PKEY *peer, uint8_t *secret) {
  size_t length = SCALAR;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, pair, NULL);
  bool is_done = context && EVP_PKEY_derive_init(context) > 0 && EVP_PKEY_derive_set_peer_ex(context, peer, 0) > 0 &&
                 EVP_PKEY_derive(context, secret, &length) > 0 && length == SCALAR;
  EVP_PKEY_CTX_free(context);
  return is_done;
}

// RFC 8188 §2: salt(16) ‖ rs(4) ‖ idlen(1) ‖ keyid(65), then one record.
static bool seal(State *state, EVP_PKEY *pair, Bytes plaintext, const uint8_t *p256dh, const uint8_t *auth,
                 uint8_t *body) {
  uint8_t *key_id = body + SALT + 4 + 1, *record = body + HEADER;
  uint8_t secret[SCALAR], prk[HASH], keying_material[HASH], key[HASH], nonce[HASH];
  uint8_t info[2 * POINT + 1];
  size_t length = 0;
  int written = 0;
  memcpy(body + SALT, "\x00\x00\x10\x00\x41", 5);  // rs 4096, idlen 65
  bool is_done =
      EVP_PKEY_get_octet_string_param(pair, OSSL_PKEY_PARAM_PUB_KEY, key_id, POINT, &length) && length == POINT &&
      derive(pair, state->peer, secret);
  if (is_done) {
    memcpy(info, p256dh, POINT);
    memcpy(info + POINT, key_id, POINT);
    info[2 * POINT] = 1;  // the counter of HKDF-Expand
    is_done =  // RFC 8291 §3.4, then RFC 8188 §2.2 and §2.3
        hmac(state, auth, AUTH, (Bytes){secret, SCALAR}, NOTHING, prk) &&
        hmac(state, prk, HASH, TEXT("WebPush: info\0"), (Bytes){info, sizeof info}, keying_material) &&
        hmac(state, body, SALT, (Bytes){keying_material, HASH}, NOTHING, prk) &&
        hmac(state, prk, HASH, TEXT("Content-Encoding: aes128gcm\0\1"), NOTHING, key) &&
        hmac(state, prk, HASH, TEXT("Content-Encoding: nonce\0\1"), NOTHING, nonce) &&
        EVP_EncryptInit_ex2(state->aead, state->cipher, key, nonce, NULL) &&
        EVP_EncryptUpdate(state->aead, record, &written, plaintext.data, (int)plaintext.length) &&
        EVP_EncryptUpdate(state->aead, record + plaintext.length, &written, (const uint8_t *)"\2", 1) &&
        EVP_EncryptFinal_ex(state->aead, record + plaintext.length + 1, &written) &&
        EVP_CIPHER_CTX_ctrl(state->aead, EVP_CTRL_AEAD_GET_TAG, TAG, record + plaintext.length + 1);
  }
  OPENSSL_cleanse(secret, sizeof secret);
  OPENSSL_cleanse(prk, sizeof prk);
  OPENSSL_cleanse(keying_material, sizeof keying_material);
  OPENSSL_cleanse(key, sizeof key);
  OPENSSL_cleanse(nonce, sizeof nonce);
  return wipe_contexts(state) && is_done;
}

static bool overlap(Bytes one, Bytes other) {
  return other.length > 0 && one.data < other.data + other.length && other.data < one.data + one.length;
}

static bool read_bytes(napi_env env, napi_value value, Bytes *bytes) {
  napi_typedarray_type type;
  return napi_get_typedarray_info(env, value, &type, &bytes->length, (void **)&bytes->data, NULL, NULL) == napi_ok &&
         type == napi_uint8_array;
}

// encrypt(body, plaintext, p256dh, auth, fixed?): fills `body`, plaintext.length + 103 bytes. False where p256dh is not
// a point on the curve. `fixed`, for test vectors: salt(16) ‖ public key(65) ‖ private key(32).
static napi_value encrypt(napi_env env, napi_callback_info call) {
  State *state;
  napi_value arguments[5], result;
  size_t count = 5;
  Bytes body, plaintext, p256dh, auth, fixed = NOTHING;
  napi_get_instance_data(env, (void **)&state);
  napi_get_cb_info(env, call, &count, arguments, NULL, NULL);
  if (count < 4 || !read_bytes(env, arguments[0], &body) || !read_bytes(env, arguments[1], &plaintext) ||
      !read_bytes(env, arguments[2], &p256dh) || !read_bytes(env, arguments[3], &auth) ||
      (count > 4 && !read_bytes(env, arguments[4], &fixed))) {
    napi_throw_type_error(env, NULL, "encrypt takes Uint8Arrays: body, plaintext, p256dh, auth, and fixed or nothing");
    return NULL;
  }
  if (plaintext.length > RECORD_SIZE - OVERHEAD || body.length != plaintext.length + OVERHEAD ||
      p256dh.length != POINT || auth.length != AUTH || (count > 4 && fixed.length != SALT + POINT + SCALAR)) {
    napi_throw_range_error(env, NULL, "encrypt was given an array of the wrong length");
    return NULL;
  }
  if (overlap(body, plaintext) || overlap(body, p256dh) || overlap(body, auth) || overlap(body, fixed)) {
    napi_throw_range_error(env, NULL, "encrypt cannot write to memory that it reads from");
    return NULL;
  }
  EVP_PKEY *pair = NULL;
  ERR_set_mark();
  bool is_point = p256dh.data[0] == 4 && EVP_PKEY_set1_encoded_public_key(state->peer, p256dh.data, POINT) > 0;
  bool is_done = is_point;
  if (is_point && count > 4) {
    memcpy(body.data, fixed.data, SALT);
    is_done = (pair = fixed_pair(fixed.data + SALT, fixed.data + SALT + POINT)) != NULL;
  } else if (is_point) {
    is_done = RAND_bytes(body.data, SALT) > 0 && EVP_PKEY_generate(state->generator, &pair) > 0;
  }
  is_done = is_done && seal(state, pair, plaintext, p256dh.data, auth.data, body.data);
  EVP_PKEY_free(pair);
  ERR_pop_to_mark();  // Node must not find our errors in the queue
  if (is_point && !is_done) {
    napi_throw_error(env, NULL, "OpenSSL could not encrypt the message");
    return NULL;
  }
  napi_get_boolean(env, is_point, &result);
  return result;
}

// What no Web Push sender can do without, and nothing else: per message one fresh pair, its point, one secret. For the
// benchmark, which takes the time.
static napi_value run_ec_operations(napi_env env, napi_callback_info call) {
  State *state;
  napi_value argument;
  size_t count = 1, length;
  double messages = 0;
  uint8_t point[POINT], secret[SCALAR];
  napi_get_instance_data(env, (void **)&state);
  napi_get_cb_info(env, call, &count, &argument, NULL, NULL);
  if (count < 1 || napi_get_value_double(env, argument, &messages) != napi_ok) {
    napi_throw_type_error(env, NULL, "runEcOperations takes a number of messages");
    return NULL;
  }
  if (!(messages >= 0 && messages <= MAX_EC_OPERATIONS) || messages != (int)messages) {
    napi_throw_range_error(env, NULL, "runEcOperations takes a whole number of messages from 0 to 1000000");
    return NULL;
  }
  bool is_done = true;
  for (int message = 0; is_done && message < (int)messages; message++) {
    EVP_PKEY *pair = NULL;
    is_done = EVP_PKEY_generate(state->generator, &pair) > 0 &&
              EVP_PKEY_get_octet_string_param(pair, OSSL_PKEY_PARAM_PUB_KEY, point, POINT, &length) &&
              derive(pair, state->peer, secret);
    EVP_PKEY_free(pair);
  }
  OPENSSL_cleanse(secret, sizeof secret);
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
  napi_create_function(env, "encrypt", NAPI_AUTO_LENGTH, encrypt, NULL, &function);
  napi_set_named_property(env, exports, "encrypt", function);
  napi_create_function(env, "runEcOperations", NAPI_AUTO_LENGTH, run_ec_operations, NULL, &function);
  napi_set_named_property(env, exports, "runEcOperations", function);
  return exports;
}
