// Promises of docs/operator-api.md.
import type { DocumentedPromise } from '../promise.ts';

const roles = 'test/operator/roles.test.ts';
const access = 'src/operator/authorize.ts';
const listener = 'src/operator/create-operator.ts';
const operatorsTest = 'test/cli/operators.test.ts';

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
    claim:
      'Of user and tags of a subscription, what an operator does not give stays, also where two change it at once',
    test: {
      file: 'test/store/people-suite.ts',
      title: 'they are replaced, and tags are added and taken away',
    },
    changes: {
      'src/store/sqlite/people.ts': {
        'the user goes': ['(user === undefined ? row.user : user)', 'user'],
        'the tags go': ['tags: tags ?? owners.tagsOf(id)', 'tags'],
      },
      'src/store/postgres/people.ts': {
        'the user goes': ['case when $2 then $3 else user_name end', 'case when $2 then $3 end'],
        'the tags go': ['read_tags($5::jsonb) else tags end', 'read_tags($5::jsonb) end'],
      },
    },
  },
  {
    claim: 'The event `broadcast.done` of a broadcast that has been deleted has its ID alone',
    test: {
      file: 'test/operator/webhook.test.ts',
      title: 'an alarm, a subscription that is gone and a broadcast that is done',
    },
    changes: {
      'src/operator/webhook/webhook-body.ts': {
        'it has nothing': ['? { id: event.broadcastId }', '? {}'],
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
        'it gets younger with each try': ["drop('at_ms < :beforeMs'", "drop('due_at_ms < :beforeMs'"],
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
    claim: 'A proxy that is named with `--trust-proxy` is believed by the operator’s listener',
    test: { file: 'test/operator/behind-proxy.test.ts', title: 'of further proxies' },
    changes: {
      'src/cli/serve/open-operator.ts': {
        'it is not': [
          '...address, isBehindProxy, hosts, trustProxy, tls',
          '...address, isBehindProxy, hosts, tls',
        ],
      },
    },
  },
  {
    claim:
      'A proxy that is named with `--trust-proxy` is believed by the operator’s listener also without `--operator-behind-proxy`',
    test: {
      file: 'test/operator/behind-proxy.test.ts',
      title: 'a proxy that is named is believed also without --operator-behind-proxy',
    },
    changes: {
      'src/cli/serve/open-operator.ts': {
        'it is not, where the listener has a certificate': [
          'hosts, trustProxy, tls: await',
          'hosts, trustProxy: isBehindProxy ? trustProxy : [], tls: await',
        ],
      },
      [listener]: { 'it is only behind one': ['...trustProxy]', '...(isBehindProxy ? trustProxy : [])]'] },
    },
  },
  {
    claim: '`deskbell demo` opens an operator’s listener, and prints its address and a token',
    test: { file: 'test/cli/demo.test.ts', title: 'without --once it goes on' },
    changes: {
      'src/cli/demo/demo-operator.ts': {
        'the token may read metrics alone': ["role: 'full', tokenHash", "role: 'metrics', tokenHash"],
        'the address is another one': ['address: listener.address,', "address: 'http://127.0.0.1:1',"],
      },
    },
  },
  {
    claim:
      'Where port 8081 is in use, `deskbell demo` prints the port that its operator’s listener has instead',
    test: { file: 'test/cli/demo.test.ts', title: 'a port that is asked for and taken' },
    changes: {
      'src/cli/demo/demo-operator.ts': {
        'it prints 8081': ['address: listener.address,', 'address: `http://${host}:${usualPort}`,'],
      },
    },
  },
  {
    claim: 'What a client writes into X-Forwarded-For makes it nobody else',
    test: { file: 'test/operator/behind-proxy.test.ts', title: 'what a client writes before the proxy' },
    changes: {
      [listener]: {
        'all of the header is believed': ['trustProxy: proxies }', 'trustProxy: true }'],
        'whoever is in an internal network is believed': ["['loopback']", "['loopback', 'uniquelocal']"],
      },
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
          'const stored = await requests.begin(request);',
          'await send(); const stored = await requests.begin(request);',
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
        'the answer is not stored': ['await requests.finish(request, JSON.stringify(answer));', ''],
      },
    },
  },
  {
    claim:
      'A broadcast that is cancelled is posted to the webhook too, and an alarm once for each push service and reason',
    test: {
      file: 'test/store/webhook-outbox-suite.ts',
      title: 'a broadcast that is cancelled is told of too',
    },
    changes: {
      'src/store/sqlite/migrations.ts': {
        'it is posted where it is done': [
          "webhook_broadcast_done after update of state on broadcasts\n    when new.state in ('done', 'cancelled')",
          "webhook_broadcast_done after update of state on broadcasts\n    when new.state in ('done')",
        ],
        'an alarm is posted once for each push service': [
          'webhook_alarm after insert on alarms\n    when',
          "webhook_alarm after insert on alarms\n    when new.reason = 'bad-request' and",
        ],
      },
      'src/store/postgres/migrations.ts': {
        'it is posted where it is done': [
          "when (new.state in ('done', 'cancelled') and old.state",
          "when (new.state in ('done') and old.state",
        ],
        'an alarm is posted once for each push service': [
          'on deskbell.alarms for each row execute',
          "on deskbell.alarms for each row when (new.reason = 'bad-request') execute",
        ],
      },
    },
  },
  {
    claim:
      'A message to a person is sent to every device that can be sent to, and keys are those of the installation',
    test: { file: 'test/operator/api.test.ts', title: 'sends to every device of a user' },
    changes: {
      'src/operator/send-message.ts': {
        'one that cannot fails the others': ['if (!isAnySent) throw result.reason;', 'throw result.reason;'],
        'one that cannot, alone, is no error': ['if (!isAnySent) throw result.reason;', ''],
        'it is not said why one cannot be sent to': ['detail: fault.message,', 'detail: undefined,'],
      },
      'src/operator/api/keys.ts': {
        'others are shown too': ['.filter(({ state }) => state !== undefined)', ''],
      },
    },
  },
  {
    claim: 'What one database takes for the name of an operator, the other takes too',
    test: { file: 'test/store/operators-suite.ts', title: 'text with NUL is refused' },
    changes: {
      'src/store/sqlite/portable-database.ts': { 'SQLite takes NUL': ['checkTexts(values);', ''] },
      'src/store/postgres/portable-database.ts': {
        'PostgreSQL names no field': ['checkTexts(values);', ''],
      },
    },
  },
  {
    claim: 'A message as plain text takes urgency, TTL and topic from the query',
    test: { file: 'test/operator/api.test.ts', title: 'plain text is a message to a person' },
    changes: {
      'src/operator/api/messages.ts': {
        'the topic is ignored': [
          'const { user, title, ...options } = query;',
          'const { user, title, topic: _topic, ...options } = query;',
        ],
      },
    },
  },
  {
    claim: 'A webhook event is taken with any status from 200 to 299',
    test: { file: 'test/operator/webhook.test.ts', title: 'what is not taken is posted again under its id' },
    changes: {
      'src/operator/webhook/start-webhook.ts': {
        'only 204 takes it': ['result.response.status < 300', 'result.response.status === 204'],
        '300 takes it': ['result.response.status < 300', 'result.response.status <= 300'],
      },
    },
  },
  {
    claim: 'Of a person and a subscription, what came of that subscription of the person is answered',
    test: { file: 'test/operator/outcomes.test.ts', title: 'the API answers why somebody got nothing' },
    changes: {
      'src/operator/api/outcomes.ts': {
        'the subscription is ignored': [
          'devices?.filter((device) => subscription === undefined || device === subscription)',
          'devices',
        ],
      },
    },
  },
  {
    claim: 'A broadcast that is paused stops in the middle of a slice, whichever process delivers it',
    test: { file: 'test/delivery/broadcast.test.ts', title: 'that is paused stops' },
    changes: {
      'src/delivery/worker/committer.ts': {
        'only a cancelled one stops': ["answer.state !== 'running'", "answer.state === 'cancelled'"],
      },
    },
  },
  {
    claim: 'A broadcast that is cancelled stops in the middle of a slice, and sends no more',
    test: { file: 'test/delivery/broadcast.test.ts', title: 'that is cancelled stops' },
    changes: {
      'src/delivery/worker/committer.ts': {
        'only a paused one stops': ["answer.state !== 'running'", "answer.state === 'paused'"],
      },
    },
  },
  {
    claim: '`deskbell operators list` shows names and roles',
    test: { file: operatorsTest, title: 'deskbell operators beside serve --operator' },
    changes: {
      'src/cli/commands/operators.ts': {
        'the role is left out': ['`${role.padEnd(7)}  ${isoTime', '`${isoTime'],
      },
    },
  },
  {
    claim:
      'The line that `deskbell operators add` prints begins with https where the listener has a certificate',
    test: { file: operatorsTest, title: 'deskbell operators beside serve --operator' },
    changes: {
      'src/cli/commands/operators.ts': {
        'it is http': ["operatorCert === undefined ? '' : 's'", "operatorCert === undefined ? '' : ''"],
      },
    },
  },
  {
    claim:
      'Figures of a push service are those of all processes together, and its breaker is the worst of them',
    test: { file: 'test/operator/push-services.test.ts', title: 'the figures of all senders are added up' },
    changes: {
      'src/operator/push-services.ts': {
        'the 429s are those of the last': [
          'throttled: view.throttled + reported.throttled',
          'throttled: reported.throttled',
        ],
        'the breaker is that of the last': ['...(isWorse && {', '...({'],
        'one that is being tested is as good as any': ["'half-open': 1", "'half-open': 0"],
        'one that is being tested is worse than one that is open': ["'half-open': 1", "'half-open': 3"],
        'it is unreachable for the shortest time': ['Math.max(one, other)', 'Math.min(one, other)'],
        'the latency is that of the last': [
          'largest(view.latencyMs, reported.latencyMs)',
          'reported.latencyMs',
        ],
        'keys that it refuses are left out': ['[...refusedKeys, vapidPublicKey]', 'refusedKeys'],
      },
    },
  },
  {
    claim: 'A token of the role `read` reads everything that the API has, and /metrics',
    test: { file: roles, title: 'the role metrics reads /metrics alone' },
    changes: {
      'src/operator/api/channels.ts': { 'not the channels': ['roles: watchers', "roles: ['full', 'send']"] },
      'src/operator/metrics/add-metrics.ts': {
        'not /metrics': ["['full', 'read', 'metrics']", "['full', 'metrics']"],
      },
    },
  },
  {
    claim:
      'The role `send` does not see a broadcast of somebody else whose idempotency key its operator knows',
    test: { file: roles, title: 'the role send sends, and sees its own broadcasts alone' },
    changes: {
      'src/operator/own-broadcasts.ts': { 'it sees it': ['if (isCreator && ', 'if ('] },
    },
  },
  {
    claim:
      'Beyond loopback, `localhost` is no Host of the operator’s listener; the usual port may be left out',
    test: {
      file: 'test/operator/authorize.test.ts',
      title: 'beyond loopback it is not reached as localhost',
    },
    changes: {
      'src/operator/host-check.ts': {
        'localhost is one': ['isLoopback(host) ? [', "host !== '' ? ["],
        'with TLS the usual port is 80': ['(isSecure ? 443 : 80)', '80'],
        'without TLS the usual port is 443': ['(isSecure ? 443 : 80)', '443'],
        'it cannot be left out': ['isOwn && !isDefaultPort', 'isOwn'],
        'any port can be left out': ['isOwn && !isDefaultPort ? []', 'isOwn && port < 0 ? []'],
        'another address of loopback is none': ["'[::1]', bracket(host)]", "'[::1]']"],
        'an IPv6 address needs no brackets': [': [bracket(host)];', ': [host];'],
      },
    },
  },
  {
    claim: 'Hosts of `--operator-hosts` are known in lower and upper case',
    test: { file: 'test/operator/authorize.test.ts', title: 'another Host than the listener' },
    changes: {
      'src/operator/host-check.ts': {
        'as they are written alone': ['(name) => name.toLowerCase()', '(name) => name'],
      },
    },
  },
  {
    claim: 'The hosts of `--operator-hosts` reach the listener',
    test: { file: 'test/operator/behind-proxy.test.ts', title: 'of further proxies' },
    changes: {
      'src/cli/serve/open-operator.ts': {
        'they do not': [
          '...address, isBehindProxy, hosts, trustProxy',
          '...address, isBehindProxy, trustProxy',
        ],
      },
    },
  },
  {
    claim:
      'Without `--operator-behind-proxy`, X-Forwarded-For from this machine says nothing unless `--trust-proxy` names it',
    test: { file: 'test/operator/behind-proxy.test.ts', title: 'without a proxy the header says nothing' },
    changes: {
      [listener]: {
        'it is believed': [
          "isBehindProxy ? ['loopback']",
          "isBehindProxy || trustProxy.length > 0 ? ['loopback']",
        ],
      },
    },
  },
  {
    claim: 'A message is sent to all devices of a user, up to a hundred',
    test: { file: 'test/operator/api.test.ts', title: 'what is not valid is named, nothing is sent' },
    changes: {
      'src/operator/person-devices.ts': {
        'up to fewer': ['const maxAddressed = 100;', 'const maxAddressed = 99;'],
        'to a hundred of more': [
          'if (rows.length <= maxAddressed) return rows;',
          'if (rows.length > 0) return rows.slice(0, maxAddressed);',
        ],
      },
    },
  },
  {
    claim: 'The answer to a message with an idempotency key is stored before it is given',
    test: { file: 'test/operator/api.test.ts', title: 'a repeated request with the same key sends nothing' },
    changes: {
      'src/operator/send-once.ts': {
        'it is given at once': ['await requests.finish(', 'void requests.finish('],
      },
      'src/delivery/idempotency-key.ts': {
        'a key of 200 characters is refused': ['maxKeyCharacters = 200', 'maxKeyCharacters = 199'],
      },
    },
  },
  {
    claim: 'The certificate and the key of `--operator-cert` and `--operator-key` are those of the listener',
    test: { file: 'test/operator/authorize.test.ts', title: 'it speaks TLS with the certificate' },
    changes: {
      'src/cli/serve/open-operator.ts': {
        'they are read and not used': [
          'tls: await readTls(configuration)',
          'tls: void (await readTls(configuration))',
        ],
        'the address that is printed is that of http': ["address.replace(/^http/, 'https')", 'address'],
      },
    },
  },
  {
    claim: 'Broadcasts are found by every state, and attempts by every outcome',
    test: { file: 'test/operator/api.test.ts', title: 'times and filters that are not valid are named' },
    changes: {
      'src/views/broadcast.ts': { 'not by preparing': ["['preparing', 'scheduled',", "['scheduled',"] },
      'src/operator/api/broadcast-requests.ts': {
        'not by retry': ['enum: attemptOutcomes', 'enum: attemptOutcomes.slice(0, -1)'],
      },
    },
  },
  {
    claim: 'Subscriptions by push service and tags come in pages',
    test: { file: 'test/operator/find-subscriptions.test.ts', title: 'few subscriptions of a push service' },
    changes: {
      'src/operator/find-subscriptions.ts': {
        'each page is the first one': ['let { afterId } = range;', 'let afterId = 0 * range.afterId;'],
      },
    },
  },
  {
    claim:
      'A search among very many broadcasts goes on where its page has ended, also where it has found none',
    test: { file: 'test/operator/find-subscriptions.test.ts', title: 'of very many broadcasts' },
    changes: {
      'src/operator/broadcast-search.ts': {
        'it ends after some thousands': ['  return found(beforeId);\n}', '  return found();\n}'],
      },
    },
  },
  {
    claim: 'Subscriptions are found by `anyTag` alone, and by `notTag` alone',
    test: { file: 'test/operator/api.test.ts', title: 'they are listed by person, tags and push service' },
    changes: {
      'src/operator/api/subscriptions.ts': {
        'not by anyTag': ['[user, tag, anyTag, notTag].some', '[user, tag, notTag].some'],
        'not by notTag': ['[user, tag, anyTag, notTag].some', '[user, tag, anyTag].some'],
      },
    },
  },
  {
    claim: 'The attempts of a broadcast are found by outcome and subscription together',
    test: {
      file: 'test/store/attempts-suite.ts',
      title: 'a broadcast and a subscription list their attempts',
    },
    changes: {
      'src/store/attempt-reader.ts': {
        'any outcome comes': [
          'attempt.id < beforeId && isWanted(attempt)).slice',
          'attempt.id < beforeId).slice',
        ],
        'each page is the first one': [
          'attempt.id < beforeId && isWanted(attempt)).slice',
          'isWanted(attempt)).slice',
        ],
      },
    },
  },
  {
    claim: 'Urgency, TTL and topic hold for a message to a subscription that need not be stored',
    test: { file: 'test/operator/api.test.ts', title: 'a subscription that need not be stored is sent to' },
    changes: {
      'src/operator/send-message.ts': {
        'they do not': [
          'sender.send(to.subscription, message, options)',
          'sender.send(to.subscription, message)',
        ],
      },
    },
  },
  {
    claim: 'Urgency, TTL and topic hold for a message with texts by language, too',
    test: { file: 'test/operator/api.test.ts', title: 'each device gets the text for its reader' },
    changes: {
      'src/operator/send-message.ts': {
        'they do not': [
          'sendPayload(row, payloads[index]!, options)',
          'sendPayload(row, payloads[index]!, {})',
        ],
      },
    },
  },
];
