// Promises of docs/operator-api.md on the answers of the API and on its webhook.
import type { DocumentedPromise } from '../promise.ts';

const api = 'test/operator/api.test.ts';
const webhookTest = 'test/operator/webhook.test.ts';
const webhook = 'src/operator/webhook/start-webhook.ts';
const wrongRequests = 'test/operator/wrong-requests.test.ts';
const undelivered = 'src/operator/undelivered-error.ts';
const operators = 'test/store/operators-suite.ts';

export const operatorApiAnswers: readonly DocumentedPromise[] = [
  {
    claim: 'Only a hash of an operator’s token is stored',
    test: { file: 'test/cli/operators.test.ts', title: 'deskbell operators beside serve --operator' },
    changes: {
      'src/keys/operator-token.ts': {
        'the token itself is': [
          "return createHash('sha256').update(token).digest();",
          'return Buffer.from(token);',
        ],
        'its bytes are': [
          "return createHash('sha256').update(token).digest();",
          "return Buffer.from(token.slice(prefix.length), 'base64url');",
        ],
      },
    },
  },
  {
    claim: 'Each request that changes something leaves an audit record with the status of its answer',
    test: { file: api, title: 'one is made once for its key, listed, found' },
    changes: {
      'src/operator/audit-changes.ts': {
        'the status is left out': ['{ status: reply.statusCode, target }', '{ status: 200, target }'],
        'refused ones leave none': [
          "if (audited === undefined || audited === 'none') return;",
          "if (audited === undefined || audited === 'none' || request.url.endsWith('/pause')) return;",
        ],
      },
    },
  },
  {
    claim: 'An audit record says what was done, to what, and when',
    test: { file: api, title: 'one is made once for its key, listed, found' },
    changes: {
      'src/views/audit.ts': { 'the time is another one': ['at: isoTime(atMs)', 'at: isoTime(0 * atMs)'] },
    },
  },
  {
    claim: 'Each kind of change has its own name in the audit, and names what was changed',
    test: { file: 'test/operator/roles.test.ts', title: 'what changes something is refused to who may not' },
    changes: {
      'src/operator/api/subscriptions.ts': {
        'it has another name': ["action: 'subscription.assign'", "action: 'subscription.remove'"],
      },
      'src/operator/api/held-deletions.ts': {
        'the push service is not named': [
          'target: (request) => `push service ${request.params.origin}`,',
          '',
        ],
      },
    },
  },
  {
    claim:
      'The audit identifies a person by a keyed hash, which nobody without the session key can test ids with',
    test: { file: 'test/cli/operators.test.ts', title: 'the hash of a person needs the key' },
    changes: {
      'src/cli/serve/person-hash.ts': {
        'the key is the same everywhere': [
          "hkdfSync('sha256', sessionKey, '',",
          "hkdfSync('sha256', '', '',",
        ],
        'the name is in it': [
          "createHmac('sha256', key).update(user).digest('base64url')",
          "(createHmac('sha256', key), user)",
        ],
      },
    },
  },
  {
    claim: 'The audit of `deskbell serve` has the hash of a person by the key of the installation',
    test: { file: 'test/cli/operators.test.ts', title: 'deskbell operators beside serve --operator' },
    changes: {
      'src/cli/serve/open-operator.ts': {
        'the key is another one': [
          'createPersonHash(sessionKey)',
          'createPersonHash(Buffer.alloc(sessionKey.length))',
        ],
      },
    },
  },
  {
    claim:
      'A broadcast that is prepared for a later start is `preparing`; once it is ready, `scheduled` until then',
    test: { file: 'test/delivery/format-broadcast.test.ts', title: 'a running broadcast is scheduled' },
    changes: {
      'src/delivery/broadcast/format-broadcast.ts': {
        'it is scheduled while it is prepared': [
          "state === 'running' && startAtMs",
          "['preparing', 'running'].includes(state) && startAtMs",
        ],
      },
    },
  },
  {
    claim: '`POST /v1/broadcasts` takes each option of delivery',
    test: { file: api, title: 'one has each option of delivery as it was asked for' },
    changes: {
      'src/operator/api/broadcasts.ts': {
        'one is left out': [
          'const { audience, message, startAt, ...options } = request.body;',
          'const { audience, message, startAt, skipInactive: _, ...options } = request.body;',
        ],
      },
    },
  },
  {
    claim: '`POST /v1/schedules` takes each option of delivery',
    test: { file: api, title: 'a schedule is made, listed and removed' },
    changes: {
      'src/operator/api/schedules.ts': {
        'one is left out': [
          'const { audience, message, ...options } = request.body;',
          'const { audience, message, priority: _, ...options } = request.body;',
        ],
      },
    },
  },
  {
    claim: 'A message to one person can be plain text, with the title of the installation unless it is given',
    test: { file: api, title: 'plain text is a message to a person' },
    changes: {
      'src/operator/api/messages.ts': {
        'a title that is given is ignored': ['title: title ?? defaultTitle', 'title: defaultTitle'],
        'options of the query are ignored': ['message: given }, ...options }', 'message: given } }'],
      },
      'src/http/json-body.ts': {
        'line breaks within it are lost': ['/\\r?\\n$/', '/\\r?\\n/'],
      },
    },
  },
  {
    claim:
      'Where no push service accepts a message and one may later, the answer is a 503 with Retry-After; where one accepted, or all refused, a 200',
    test: { file: api, title: 'where no device accepts and one may later' },
    changes: {
      [undelivered]: {
        'one that accepted is forgotten': ["&& !outcomes.has('accepted')", ''],
        'it is a 200': ["outcomes.has('retry') &&", "outcomes.has('retry' + '?') &&"],
        'Retry-After is left out': ['seconds.length === 0 ?', 'seconds.length >= 0 ?'],
        'Retry-After is the longest': ['Math.min(...seconds)', 'Math.max(...seconds)'],
        'one that was rejected makes it a 200': ["&& !outcomes.has('accepted'))", '&& outcomes.size === 1)'],
        'one that has ended makes it a 200': [
          "&& !outcomes.has('accepted')",
          "&& !outcomes.has('accepted') && !outcomes.has('gone')",
        ],
        'it is a 503 where all have ended': [
          "outcomes.has('retry') &&",
          "(outcomes.has('retry') || outcomes.has('gone')) &&",
        ],
      },
      'src/views/sent-message.ts': {
        'Retry-After is up to a second too early': [
          'Math.ceil(afterMs / 1000)',
          'Math.floor(afterMs / 1000)',
        ],
      },
      'src/operator/api/messages.ts': {
        'Retry-After is there where nobody asks for a time': [
          'error instanceof UndeliveredError && error.retryAfterSeconds !== undefined)',
          'error instanceof UndeliveredError)',
        ],
      },
    },
  },
  {
    claim: 'A 503 leaves the idempotency key free, unless a push service was asked and did not answer',
    test: { file: api, title: '/v1/messages' },
    changes: {
      'src/operator/send-once.ts': {
        'the key stays taken': ['await requests.release(request);', 'void requests;'],
        'the key is free although a message may have been sent': [
          'error.isInDoubt)',
          'error.isInDoubt === undefined)',
        ],
      },
    },
  },
  {
    claim: 'A 503 leaves the key taken where a subscription that need not be stored got no answer',
    test: { file: api, title: 'a key whose message got no answer from the push service' },
    changes: {
      'src/operator/send-message.ts': {
        'it is free': ['isInDoubt: isInDoubt(result) }', 'isInDoubt: false }'],
        'it is taken where no push service was reached, too': [
          'outcome.isInDoubt === true',
          'outcome.isInDoubt !== undefined',
        ],
      },
    },
  },
  {
    claim: 'A key that a push service takes again is not told as refused',
    test: { file: 'test/operator/push-services.test.ts', title: 'the figures of all senders are added up' },
    changes: { 'src/operator/push-services.ts': { 'it is': ['if (isSuspended) change', 'change'] } },
  },
  {
    claim: 'The idempotency key of a message with another body is a 422, and free again after a day',
    test: { file: operators, title: 'the key of a message is taken once' },
    changes: {
      'src/store/message-requests.ts': {
        'another body gets the answer': [
          'if (Buffer.compare(stored.content_hash, contentHash) !== 0) {',
          'if (Buffer.compare(stored.content_hash, contentHash) > 1) {',
        ],
        'it is free again too early': [
          'beforeMs: nowMs - keyLifetimeMs',
          'beforeMs: nowMs - keyLifetimeMs / 2',
        ],
        'it is taken for ever': ['beforeMs: nowMs - keyLifetimeMs', 'beforeMs: nowMs - 99 * keyLifetimeMs'],
        'who gives it up again takes it from the next': [
          'delete from deskbell.message_requests where key = :key and claim = :claim',
          'delete from deskbell.message_requests where key = :key and :claim <> key',
        ],
      },
    },
  },
  {
    claim: 'An idempotency key that was used with another recipient or message is a 422',
    test: { file: api, title: 'a repeated request with the same key sends nothing' },
    changes: {
      'src/operator/api/messages.ts': {
        'the answer is that to another recipient': [
          'parts.store.messageRequests, key, asked,',
          'parts.store.messageRequests, key, { message, ...options },',
        ],
        'the answer is that to another message': [
          'parts.store.messageRequests, key, asked,',
          'parts.store.messageRequests, key, { to, ...options },',
        ],
      },
    },
  },
  {
    claim: 'A broadcast is made once for its `Idempotency-Key`',
    test: { file: api, title: 'one is made once for its key, listed, found' },
    changes: {
      'src/operator/api/broadcasts.ts': {
        'the key is ignored': ['idempotencyKey: key === undefined ? undefined : String(key),', ''],
        'who created it is left out': ["createdBy: { operator: request.operator?.name ?? '' },", ''],
        'the answer to a repeat is that to a new one': ['reply.code(isNew ? 201 : 200)', 'reply.code(201)'],
      },
    },
  },
  {
    claim: 'Beyond loopback the operator’s listener starts with TLS or behind a proxy only',
    test: { file: 'test/operator/authorize.test.ts', title: 'beyond loopback it starts with TLS' },
    changes: {
      'src/operator/create-operator.ts': {
        'it starts': ['  requireTls(host, isSecure);', '  void [requireTls, host];'],
        'it does not start with a certificate': ['tls !== undefined || isBehindProxy', 'isBehindProxy'],
      },
    },
  },
  {
    claim: 'Without a token, the operator’s listener shows its sign-in page and files alone',
    test: {
      file: 'test/operator/both-listeners.test.ts',
      title: 'all routes of both listeners against each other',
    },
    changes: {
      'src/operator/authorize.ts': {
        'it needs none': [
          "app.addHook('onRequest', async (request, reply) => {",
          "app.addHook('onRequest', async (request, reply) => { if (request.url === '/openapi.json') return;",
        ],
      },
    },
  },
  {
    claim: 'A page of a list has 50 items by default, and at most 500',
    test: { file: api, title: 'a list has 50 items' },
    changes: {
      'src/operator/api/page.ts': {
        'a page has another number by default': ['defaultLimit = 50', 'defaultLimit = 100'],
        'it may have more': ['const maxLimit = 500;', 'const maxLimit = 5000;'],
      },
    },
  },
  {
    claim: 'A page of a list in the order of names has 50 items by default',
    test: { file: 'test/operator/push-services.test.ts', title: 'the figures of all senders are added up' },
    changes: {
      'src/operator/api/page.ts': {
        'it has more': ['{ limit = defaultLimit, cursor }', '{ limit = 500, cursor }'],
      },
    },
  },
  {
    claim: 'A sender says since when it sends, and when it was seen last',
    test: { file: 'test/operator/push-services.test.ts', title: 'the figures of all senders are added up' },
    changes: {
      'src/operator/api/push-services.ts': {
        'it began when it was seen last': ['startedAt: isoTime(startedAtMs)', 'startedAt: isoTime(seenAtMs)'],
        'it was seen when it began': ['seenAt: isoTime(seenAtMs)', 'seenAt: isoTime(startedAtMs)'],
      },
    },
  },
  {
    claim: 'Who acknowledges an alarm with a note is named in it, with the note',
    test: { file: api, title: 'alarms are listed as long as they stand' },
    changes: {
      'src/operator/api/alarms.ts': {
        'the note is lost': ['{ id, note, operator:', "{ id, note: 'known', operator:"],
      },
    },
  },
  {
    claim: 'An alarm names the broadcasts that it concerns',
    test: { file: api, title: 'alarms are listed as long as they stand' },
    changes: {
      'src/views/standing-alarm.ts': { 'it names none': ['broadcasts: broadcastIds', 'broadcasts: []'] },
    },
  },
  {
    claim: 'A subscription says when it was registered, and when it was renewed',
    test: {
      file: 'test/operator/people-and-channels.test.ts',
      title: 'a subscription is shown with what its browser has said',
    },
    changes: {
      'src/views/subscription.ts': {
        'it was registered when it was renewed': [
          'createdAt: isoTime(createdAtMs)',
          'createdAt: isoTime(updatedAtMs)',
        ],
        'it was renewed when it was registered': [
          'updatedAt: isoTime(updatedAtMs)',
          'updatedAt: isoTime(createdAtMs)',
        ],
      },
    },
  },
  {
    claim: 'Subscriptions of a push service come in pages',
    test: { file: api, title: 'they are listed by person, tags and push service, in pages' },
    changes: {
      'src/operator/find-subscriptions.ts': {
        'each page is the first one': [
          'store.pageOfPushService(pushService, { afterId, limit: count })',
          'store.pageOfPushService(pushService, { afterId: 0, limit: count })',
        ],
      },
    },
  },
  {
    claim: 'Broadcasts are found by words of title and message, state and start',
    test: { file: api, title: 'one is made once for its key, listed, found' },
    changes: {
      'src/operator/broadcast-search.ts': {
        'the title is not looked at': ['`${title}\\n${message}`', '`${message}`'],
        'the message is not looked at': ['`${title}\\n${message}`', '`${title}`'],
        'one that starts then is too early': ['head.startAtMs < sinceMs', 'head.startAtMs <= sinceMs'],
        'one that starts at the end is found': ['head.startAtMs >= untilMs', 'head.startAtMs > untilMs'],
        'one that waits for its start is running': ["isScheduled ? 'scheduled' : head.state", 'head.state'],
      },
    },
  },
  {
    claim: '`next` is null on the last page of a list',
    test: { file: api, title: 'one is made once for its key, listed, found' },
    changes: {
      'src/operator/broadcast-search.ts': {
        'it has a next one': [
          'if (summaries.length < readBatchSize) return found();',
          'if (summaries.length < readBatchSize) return found(beforeId);',
        ],
      },
    },
  },
  {
    claim: 'Outcomes of a subscription and of a person come in pages',
    test: { file: 'test/operator/outcomes.test.ts', title: 'the API answers why somebody got nothing' },
    changes: {
      'src/operator/api/outcomes.ts': {
        'each page of a person is the first one': [
          'outcomesTo(devices, { beforeId: cursor, limit })',
          'outcomesTo(devices, { limit })',
        ],
        'each page of a subscription is the first one': [
          'outcomesTo([id], { beforeId: cursor, limit })',
          'outcomesTo([id], { limit })',
        ],
      },
    },
  },
  {
    claim: 'The attempts of a subscription come in pages',
    test: { file: api, title: 'its attempts come in pages' },
    changes: {
      'src/operator/api/subscriptions.ts': {
        'each page is the first one': ['beforeId: cursor, limit: count', 'limit: count'],
        'those of others come too': ['{ subscriptionId: id, beforeId', '{ beforeId'],
      },
    },
  },
  {
    claim: 'An error names up to 20 wrong fields',
    test: { file: wrongRequests, title: 'of many wrong members twenty are named' },
    changes: {
      'src/http/validation.ts': {
        'fewer are named': ['.slice(0, maxFields)', '.slice(0, maxFields - 1)'],
      },
    },
  },
  {
    claim: 'Of a body with more than 100 values, an error names the first wrong field only',
    test: { file: wrongRequests, title: 'of a body with more than a hundred values' },
    changes: {
      'src/http/validation.ts': {
        'all of 101 are named': ['const maxThoroughValues = 100;', 'const maxThoroughValues = 101;'],
        'one of 100 is named': ['const maxThoroughValues = 100;', 'const maxThoroughValues = 99;'],
      },
    },
  },
  {
    claim: 'Endpoints and keys of subscriptions are never returned',
    test: { file: api, title: 'show no endpoint and no key' },
    changes: {
      'src/views/subscription.ts': {
        'the endpoint is': [
          'pushService: new URL(endpoint).origin,',
          'pushService: new URL(endpoint).origin, endpoint,',
        ],
        'the auth is': ['user: row.user,', 'user: row.user, auth: row.auth,'],
      },
    },
  },
  {
    claim: 'Text from push services and users is returned with control characters escaped',
    test: { file: api, title: 'words of strangers are answered as JSON that no terminal obeys' },
    changes: {
      'src/http/json-text.ts': {
        'it is returned as it is': [
          'send(escapeControls(JSON.stringify(value)))',
          'send(JSON.stringify(value))',
        ],
      },
    },
  },
  {
    claim: '`/openapi.json` has each error that an operation answers',
    test: { file: 'test/operator/api.test.ts', title: 'one is made once for its key' },
    changes: {
      'src/operator/api/broadcasts.ts': {
        'a key of another broadcast is left out': ["'ERR_IDEMPOTENCY_KEY',", ''],
      },
    },
  },
  {
    claim: 'Control characters are escaped in the events of a broadcast, too',
    test: { file: 'test/operator/events.test.ts', title: 'a client that comes back gets the alarms' },
    changes: {
      'src/operator/event-stream.ts': {
        'they are not': ['escapeControls(JSON.stringify(data))', 'JSON.stringify(data)'],
      },
    },
  },
  {
    claim: 'Who follows a broadcast and comes back with `Last-Event-ID` gets the events that were missed',
    test: { file: 'test/operator/events.test.ts', title: 'a client that comes back gets the alarms' },
    changes: {
      'src/operator/broadcast-events.ts': {
        'an alarm does not say of which broadcast': [
          'data: { broadcastId: broadcast.id, ...alarmToJson(alarm) }',
          'data: alarmToJson(alarm)',
        ],
        'all come again': ['let alarmsSeen = seen.alarms;', 'let alarmsSeen = 0 * seen.alarms;'],
        'the id of an alarm counts those that come after it': [
          '  id: String(alarmsSeen),',
          '  id: String(broadcast.alarms.length),',
        ],
        'the id of progress has none of the alarms that came before': [
          "event: 'progress', id: String(alarmsSeen)",
          "event: 'progress', id: String(seen.alarms)",
        ],
        'what was missed is left out': [
          'broadcast.alarms.slice(alarmsSeen)',
          'broadcast.alarms.slice(broadcast.alarms.length)',
        ],
      },
    },
  },
  {
    claim: 'Webhook events are posted as `{type, timestamp, data}`, signed according to Standard Webhooks',
    test: { file: webhookTest, title: 'are posted, signed' },
    changes: {
      'src/operator/webhook/sign-webhook.ts': {
        'the time is not signed': ['`${id}.${timestampSeconds}.${body}`', '`${id}.${body}`'],
        'the secret is not the one that is printed': [
          "createHmac('sha256', secret)",
          "createHmac('sha256', secret.toString())",
        ],
      },
      'src/operator/webhook/webhook-body.ts': {
        'the user of a subscription is left out': [
          '{ id: event.subscriptionId, user: event.user }',
          '{ id: event.subscriptionId }',
        ],
      },
    },
  },
  {
    claim: 'A webhook event has the data of its kind, and the time of its cause',
    test: { file: webhookTest, title: 'are posted, signed' },
    changes: {
      'src/operator/webhook/webhook-body.ts': {
        'an alarm has no reason': [
          'return { broadcastId, origin, reason, detail, rows };',
          'return { broadcastId, origin, detail, rows };',
        ],
        'a broadcast has its number alone': [': broadcastToJson(broadcast);', ': { id: broadcast.id };'],
        'the time is another one': ['timestamp: isoTime(atMs)', 'timestamp: isoTime(0 * atMs)'],
        'control characters are not escaped': ['return escapeControls(', 'return String('],
      },
    },
  },
  {
    claim: 'A webhook event that is answered with a 200 is not posted again',
    test: { file: webhookTest, title: 'are posted, signed' },
    changes: {
      [webhook]: { 'it is': ['result.response.status >= 200', 'result.response.status > 200'] },
    },
  },
  {
    claim: 'An event is posted again under the same `webhook-id`',
    test: { file: webhookTest, title: 'what is not taken is posted again under its id' },
    changes: {
      [webhook]: {
        'each try has another id': ['`msg_${event.id}`', '`msg_${event.id}${event.attempts}`'],
      },
    },
  },
  {
    claim:
      'An event that is not taken is posted again after 5 seconds, 5 and 30 minutes, 2, 5, 10 and 10 hours, then dropped',
    test: { file: webhookTest, title: 'what is never taken is posted eight times' },
    changes: {
      [webhook]: {
        'a time is another one': ['  5 * hour,', '  4 * hour,'],
        'it is posted on and on': [
          'const delayMs = delaysMs[attempts];',
          'const delayMs = delaysMs[attempts] ?? hour;',
        ],
        'it is not dropped': ['return webhooks.drop(id);', 'return webhooks.postpone(id, hour);'],
      },
    },
  },
  {
    claim: 'An event whose webhook gives no answer is posted again',
    test: { file: webhookTest, title: 'a name that leads to an address that is not public' },
    changes: {
      [webhook]: {
        'it is dropped': [
          'const delayMs = delaysMs[attempts];',
          "const delayMs = result.kind === 'response' ? delaysMs[attempts] : undefined;",
        ],
      },
    },
  },
  {
    claim: 'The host name of a webhook may only resolve to public addresses, and is reached by https',
    test: { file: webhookTest, title: 'a ' },
    changes: {
      'src/operator/webhook/webhook-target.ts': {
        'it may resolve to any': ['trustedOrigins: isWrittenOut ? [origin] : []', 'trustedOrigins: [origin]'],
        'http will do': [
          "if (url.protocol === 'http:' && !isWrittenOut) {",
          "if (url.protocol === 'ftp:') {",
        ],
        'an address of a network of one’s own needs http': [
          'trustedOrigins: isWrittenOut ?',
          "trustedOrigins: isWrittenOut && url.protocol === 'http:' ?",
        ],
      },
    },
  },
  {
    claim: 'The title of a plain text is the host of the public URL, unless it is given',
    test: { file: 'test/cli/send.test.ts', title: 'a text alone is a message; title and contact' },
    changes: {
      'src/cli/commands/serve.ts': {
        'it is the name of the machine': [
          'readWarnings, defaultTitle: hostTitle(configuration) };',
          'readWarnings }; void hostTitle;',
        ],
      },
    },
  },
  {
    claim: 'A key is taken where one device of a person got no answer, whatever came of the others',
    test: { file: api, title: 'a key whose message got no answer from the push service' },
    changes: {
      'src/operator/send-message.ts': {
        'it is free unless none got one': ['isInDoubt: results.some(', 'isInDoubt: results.every('],
      },
    },
  },
  {
    claim: 'The audit record of a change is written before the change',
    test: { file: api, title: 'sends to an id and answers' },
    changes: {
      'src/operator/audit-changes.ts': {
        'it is written after it': ["app.addHook('preHandler',", "app.addHook('preSerialization',"],
      },
    },
  },
  {
    claim: 'Audit records are found by operator, action and time',
    test: { file: api, title: 'one is made once for its key, listed, found' },
    changes: {
      'src/operator/api/audit.ts': {
        'the end is ignored': ['until === undefined ? undefined : Date.parse(until)', 'void until'],
        'the operator is ignored': ['        operator,\n        action,', '        action,'],
        'each page is the first one': ['beforeId: cursor', 'beforeId: undefined'],
      },
    },
  },
  {
    claim: 'Held deletions of a push service are confirmed and discarded by the API, and counted with it',
    test: { file: api, title: 'held deletions are listed' },
    changes: {
      'src/operator/api/held-deletions.ts': {
        'they are discarded in any case': ['heldDeletions[name](origin)', 'heldDeletions.discard(origin)'],
        'they are confirmed in any case': ['heldDeletions[name](origin)', 'heldDeletions.confirm(origin)'],
      },
      'src/delivery/alarms/read-alarms.ts': {
        'those of single messages are no alarm': [
          'heldAlarms(held, broadcastsOf)',
          'heldAlarms(held.filter(({ origin }) => broadcastsOf(origin).length > 0), broadcastsOf)',
        ],
      },
      'src/operator/push-services.ts': {
        'they are left out': ['({ heldDeletions: subscriptions })', '({ heldDeletions: 0 * subscriptions })'],
      },
    },
  },
  {
    claim: 'In a PATCH of a person, `null` clears a member or the choice for one channel',
    test: { file: 'test/operator/people-and-channels.test.ts', title: 'a person is set and cleared' },
    changes: {
      'src/views/person.ts': {
        'a choice stays': ["{ type: ['boolean', 'null'] }", "{ type: 'boolean' }"],
        'the language stays': [
          "Type.Optional({ type: ['string', 'null'], ...languageKeywords })",
          "Type.Optional({ type: 'string', ...languageKeywords })",
        ],
      },
      'src/store/readers.ts': {
        'data and choices stay': ['(change === null ? {} :', '(change === null ? former :'],
      },
    },
  },
  {
    claim: 'A broadcast says that its audience was a list of subscriptions, and which application created it',
    test: { file: api, title: 'a subscription that need not be stored' },
    changes: {
      'src/delivery/broadcast/audience.ts': {
        'it says a list of ids': ["list: 'subscriptions', hash", "list: 'ids', hash"],
      },
      'src/delivery/broadcast/describe-source.ts': {
        'it says the command line': ['({ application: hostname() })', '({ commandLine: hostname() })'],
      },
    },
  },
  {
    claim: 'The public VAPID keys come with their states, and without keys that were never ours',
    test: { file: api, title: 'sends to every device of a user' },
    changes: {
      'src/operator/api/keys.ts': {
        'each is called current': ['toJson: (key) => key', "toJson: (key) => ({ ...key, state: 'current' })"],
        'only the current one comes': ['state !== undefined)', "state === 'current')"],
        'others come too': ['.filter(({ state }) => state !== undefined)', ''],
      },
    },
  },
  {
    claim: 'A schedule is answered with its next three times, and is paused and resumed',
    test: { file: api, title: 'a schedule is made, listed' },
    changes: {
      'src/operator/api/schedules.ts': {
        'it has no times': [
          'await withTimes(await schedules.get(id))',
          '{ ...(await withTimes(await schedules.get(id))), nextTimes: [] }',
        ],
        'it is not paused': ['await schedules.pause(id)', 'await schedules.get(id)'],
        'it stays paused': ['await resumeSchedule(store, id)', 'await schedules.get(id)'],
        'the time zone of the request is lost': [
          'createSchedule(audience, message, options)',
          'createSchedule(audience, message, { ...options, timezone: undefined })',
        ],
      },
      'src/views/schedule.ts': {
        'its next time is another one': ['nextAt: isoTime(nextAtMs) }', 'nextAt: isoTime(createdAtMs) }'],
        'its newest broadcast is not named': ['lastBroadcast: lastBroadcastId,', 'lastBroadcast: undefined,'],
        'it does not say since when it is paused': [
          'pausedAt: isoTime(pausedAtMs) }',
          'pausedAt: isoTime(createdAtMs) }',
        ],
      },
      'src/delivery/schedule/schedule-times.ts': {
        'times that passed meanwhile are made up for': ['firstTimeAfter(now(),', 'firstTimeAfter(0,'],
      },
    },
  },
  {
    claim: 'Webhook events are stored as long as a process posts them, however long it runs',
    test: { file: webhookTest, title: 'events are asked for every hour' },
    changes: {
      [webhook]: {
        'they are stored for a week': [
          'const watchEveryMs = hour;',
          'const watchEveryMs = Number.POSITIVE_INFINITY;',
        ],
      },
    },
  },
  {
    claim: 'The timestamp of a webhook is that of the try, in seconds',
    test: { file: webhookTest, title: 'what is never taken is posted eight times' },
    changes: {
      [webhook]: {
        'it is that of the event': ['Math.floor(store.now() / 1000)', 'Math.floor(event.atMs / 1000)'],
      },
    },
  },
  {
    claim: 'The audit names no endpoint of a subscription that a message was sent to',
    test: { file: api, title: 'a subscription that need not be stored is sent to' },
    changes: {
      'src/operator/api/messages.ts': {
        'it does': [": 'subscription';", ': `subscription ${to.subscription.endpoint}`;'],
      },
    },
  },
  {
    claim: 'Events are stored from the first `serve` with a webhook on, until there was none for a week',
    test: { file: 'test/store/webhook-outbox-suite.ts', title: 'nothing is stored any more once nobody' },
    changes: {
      'src/store/sqlite/migrations.ts': {
        'alarms for a day': [
          'after insert on alarms\n    when exists (select 1 from webhook_watch where seen_at_ms > unixepoch() * 1000 - 604800000)',
          'after insert on alarms\n    when exists (select 1 from webhook_watch where seen_at_ms > unixepoch() * 1000 - 86400000)',
        ],
        'broadcasts to nobody for a day': [
          "when new.state = 'done' and exists (select 1 from webhook_watch where seen_at_ms > unixepoch() * 1000 - 604800000)",
          "when new.state = 'done' and exists (select 1 from webhook_watch where seen_at_ms > unixepoch() * 1000 - 86400000)",
        ],
        'alarms for ever': [
          'after insert on alarms\n    when exists (select 1 from webhook_watch where seen_at_ms > unixepoch() * 1000 - 604800000)',
          'after insert on alarms\n    when exists (select 1 from webhook_watch)',
        ],
      },
      'src/store/postgres/migrations.ts': {
        'for a day': ['* 1000 - 604800000)', '* 1000 - 86400000)'],
        'for ever': ['* 1000 - 604800000)', '* 1000 - 604800000000)'],
      },
    },
  },
  {
    claim: 'The webhook is told of each subscription whose held deletion is confirmed',
    test: { file: 'test/store/webhook-outbox-suite.ts', title: 'whose deletion is held is told of' },
    changes: {
      'src/store/sqlite/migrations.ts': {
        'of those that nobody is known of': [
          "values ('subscription.gone', new.gone_at_ms, new.id, new.user);",
          "values ('subscription.gone', new.gone_at_ms, new.id, null);",
        ],
      },
      'src/store/postgres/migrations.ts': {
        'of the first that a statement deletes': [
          "select 'subscription.gone', gone_at_ms, id, user_name from ended order by id;",
          "select 'subscription.gone', gone_at_ms, id, user_name from ended order by id limit 1;",
        ],
      },
    },
  },
  {
    claim: '`/openapi.json` describes every path of the API with all of its parameters',
    test: { file: 'test/operator/description.test.ts', title: '/openapi.json is valid OpenAPI 3.1' },
    changes: {
      'src/http/description/openapi-document.ts': {
        'those of paths are left out': ["    ...toParameters('path', params),\n", ''],
        'HEAD and those with GET of one thing are left out': [
          "method === 'HEAD') continue;",
          "method === 'HEAD' || (method === 'GET' && url.endsWith('/:id'))) continue;",
        ],
      },
    },
  },
  {
    claim: 'A token has one role: `--read-only` and `--send` are not given together',
    test: { file: 'test/cli/operators.test.ts', title: 'deskbell operators beside serve --operator' },
    changes: {
      'src/cli/commands/operators.ts': {
        'they are, and the token sends': [".conflicts(['send', 'metrics'])", ".conflicts(['metrics'])"],
      },
    },
  },
  {
    claim: '`deskbell serve --operator` stores broadcasts, and delivers them with `--deliver` alone',
    test: { file: 'test/cli/operators.test.ts', title: 'deskbell operators beside serve --operator' },
    changes: {
      'src/cli/commands/serve.ts': {
        'it delivers them': [
          'if (sender === undefined || !configuration.deliver)',
          'if (sender === undefined)',
        ],
      },
    },
  },
  {
    claim: 'With a certificate, pages of the listener itself are those of https',
    test: { file: 'test/operator/authorize.test.ts', title: 'it speaks TLS with the certificate' },
    changes: {
      'src/operator/host-check.ts': {
        'they are those of http': ["`http${isSecure ? 's' : ''}://${host}`", '`http://${host}`'],
      },
    },
  },
];
