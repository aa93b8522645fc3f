// Promises of docs/operator-api.md.
import type { DocumentedPromise } from '../promise.ts';

const roles = 'test/operator/roles.test.ts';
const access = 'src/operator/authorize.ts';
const listener = 'src/operator/create-operator.ts';

export const operatorApi: readonly DocumentedPromise[] = [
  {
    claim:
      'A webhook that answers with Retry-After gets the event again no earlier, nor earlier than without it',
    test: { file: 'test/operator/webhook.test.ts', title: 'what is not taken with a Retry-After' },
    changes: {
      'src/operator/webhook/start-webhook.ts': {
        'Retry-After is ignored': ['Math.max(delayMs, retryAfterMs(result, store.now()))', 'delayMs'],
        'Retry-After alone counts': [
          'Math.max(delayMs, retryAfterMs(result, store.now()))',
          'retryAfterMs(result, store.now())',
        ],
      },
    },
  },
  {
    claim: 'A webhook event that is three days old is dropped',
    test: { file: 'test/store/webhook-outbox-suite.ts', title: 'what is three days old is dropped' },
    changes: {
      'src/store/webhook-outbox.ts': {
        'it is kept': ["drop('at_ms < :beforeMs'", "drop('at_ms < 0 and at_ms < :beforeMs'"],
        'it is dropped a day early': ['= 3 * 24', '= 2 * 24'],
      },
    },
  },
  {
    claim: 'A token of the role `metrics` permits /metrics alone, and without a token nothing is answered',
    test: { file: roles, title: 'the role metrics reads /metrics alone' },
    changes: {
      [access]: {
        'it reads everything': ["[...changers, 'read']", "[...changers, 'read', 'metrics']"],
        'HEAD needs no token': [
          'const operator = await findOperator(request, operators);',
          "if (request.method === 'HEAD') return; const operator = await findOperator(request, operators);",
        ],
      },
      'src/operator/console/sessions.ts': {
        'it opens pages of the console': [
          'operator === undefined || !consoleRoles.includes(operator.role)',
          'operator === undefined',
        ],
      },
    },
  },
  {
    claim: 'A token of the role `read` changes and sends nothing, at any route',
    test: { file: roles, title: 'what changes something is refused to who may not' },
    changes: {
      [access]: {
        'the role is not looked at': ['if (permitted.includes(role)) return;', 'return;'],
        'it permits unsafe methods': ['(isSafe(method) ? readers : changers)', 'readers'],
      },
      'src/operator/console/require-session.ts': {
        'it permits the forms of the console': ['assertPermitted(request, session.operator);', ''],
        'forms need no token of their session': [
          'if (isOwnForm(request.body, consoleSession)) return done();',
          'return done();',
        ],
      },
    },
  },
  {
    claim:
      'A token of the role `send` sends, sees the broadcasts that its operator created, and nothing else',
    test: { file: roles, title: 'the role send sends, and sees its own broadcasts alone' },
    changes: {
      'src/operator/own-broadcasts.ts': {
        'it sees those of others': ["operator?.role === 'send' ? operator.id : undefined", 'undefined'],
        'a key of another gives it theirs': ['(await operators.claimBroadcast(id, ownerId))', 'true'],
      },
      'src/store/broadcast-reader.ts': {
        'its list has those of others': ["${operatorId === undefined ? '' : isOwn}", ''],
      },
    },
  },
  {
    claim: 'An error of the operator’s API names each wrong field, its fault, and what is allowed',
    test: { file: 'test/operator/wrong-requests.test.ts', title: 'is said of each field' },
    changes: {
      'src/http/schema-errors.ts': {
        'each alternative is said': [
          'for (const error of reduceAlternatives(errors))',
          'for (const error of errors)',
        ],
        'what is allowed is left out': ['detail: `${name} ${what}${remedy}.`', 'detail: `${name} ${what}.`'],
      },
    },
  },
  {
    claim: 'What fits a schema of the operator’s API is not refused as not valid',
    test: { file: 'test/operator/strict-schemas.test.ts', title: 'what fits a schema is not refused' },
    changes: {
      'src/views/audience.ts': {
        'any text is a tag': [
          "Type.String({ minLength: 1, format: 'tag' })",
          'Type.String({ minLength: 1 })',
        ],
      },
    },
  },
  {
    claim: 'Behind a proxy each client has its own attempts to sign in',
    test: {
      file: 'test/operator/behind-proxy.test.ts',
      title: 'behind a proxy each client has its own attempts',
    },
    changes: {
      [listener]: { 'all have those of the proxy': ["(isBehindProxy ? ['loopback'] : [])", '[]'] },
    },
  },
  {
    claim: 'What a client writes into X-Forwarded-For makes it nobody else',
    test: { file: 'test/operator/behind-proxy.test.ts', title: 'what a client writes before the proxy' },
    changes: {
      [listener]: { 'all of the header is believed': ['trustProxy: proxies }', 'trustProxy: true }'] },
    },
  },
  {
    claim:
      'A message with an idempotency key is sent once, also where the process ended before it had the answer',
    test: {
      file: 'test/operator/api.test.ts',
      title: 'a key whose message is being sent, or was when the process ended',
    },
    changes: {
      'src/operator/send-once.ts': {
        'the key is stored after the message was sent': [
          'const stored = await requests.begin(key, hash(content));',
          'await send(); const stored = await requests.begin(key, hash(content));',
        ],
      },
    },
  },
  {
    claim: 'A repeated request with the idempotency key of a message gets the first answer',
    test: { file: 'test/operator/api.test.ts', title: 'a repeated request with the same key sends nothing' },
    changes: {
      'src/operator/send-once.ts': {
        'the key is ignored': ['if (key === undefined) return send();', 'return send();'],
        'the answer is not stored': ['await requests.finish(key, JSON.stringify(answer));', ''],
      },
    },
  },
];
