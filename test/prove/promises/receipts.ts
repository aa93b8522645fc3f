// Promises of docs/receipts.md.
import type { DocumentedPromise } from '../promise.ts';

const suite = 'test/store/receipts-suite.ts';
const serviceTest = 'test/service/receipts.test.ts';
const worker = 'test/client/service-worker.test.ts';
const token = 'src/protocol/message/receipt-token.ts';
const store = 'src/store/sqlite/receipts.ts';
const postgres = 'src/store/postgres/functions/receipts.sql';
const reporting = 'src/client/worker/receipts.ts';
const route = 'src/service/push/receipts.ts';

const splits = 'test/store/split-audiences-suite.ts';
const counted = 'src/store/receipts.ts';

export const receipts: readonly DocumentedPromise[] = [
  {
    claim:
      'With `--skip-inactive N`, those who clicked on none of the last N broadcasts shown to them get nothing, and nobody else is left out',
    test: { file: splits, title: 'those who clicked on none of the last broadcasts shown to them' },
    changes: {
      [counted]: {
        'a closed notification is a reaction': [
          "and r.event = 'clicked'), 0)",
          "and r.event <> 'shown'), 0)",
        ],
        'who was shown one fewer is inactive too': ['offset ${lastShown - 1}', 'offset ${lastShown - 2}'],
        'an older click is a reaction': ['(select max(r.broadcast_id)', '(select max(r.broadcast_id + 1000)'],
      },
      'src/store/preparations.ts': {
        'they get it all the same': [
          'and number >= :number and is_inactive = 0',
          'and number >= :number and is_inactive >= 0',
        ],
      },
      'src/store/row-outcomes.ts': {
        'they are told that it was not for them': ["if (isInactive) return 'inactive';", 'void isInactive;'],
      },
    },
  },
  {
    claim:
      'Nobody can report on a message that they did not receive, and the answer does not tell what was counted',
    test: { file: serviceTest, title: '10,000 forged receipts change no count' },
    changes: {
      [token]: {
        'the proof is not looked at': [
          'if (!isSameSecret(mac, token.slice(idsLength))) return undefined;',
          'void [mac, isSameSecret];',
        ],
        'one proof is good for all subscriptions': [
          '.update(ids).digest(',
          '.update(ids.subarray(0, idBytes)).digest(',
        ],
      },
      [route]: {
        'the answer to a forged one is another': [
          'if (receipts.length > 0) await',
          'if (receipts.length < request.body.receipts.length) return reply.code(403).send(); await',
        ],
      },
    },
  },
  {
    claim: 'Each event is counted once for each message and subscription, even if it is reported again',
    test: { file: suite, title: 'a receipt counts once, in one call or in several' },
    changes: {
      [store]: {
        'each report counts': [
          'if (statements.add.run({ broadcastId, subscriptionId, event }) === 0) return false;',
          'statements.add.run({ broadcastId, subscriptionId, event });',
        ],
      },
      [postgres]: {
        'each report of a request counts': [
          'select distinct on (g.broadcast, g.subscription, g.event)',
          'select',
        ],
      },
    },
  },
  {
    claim: 'What is reported later, several at a time too, is added to what was counted before',
    test: { file: suite, title: 'a broadcast counts what was reported, by push service and by action' },
    changes: {
      [store]: {
        'one event is counted once for all': [
          'do update set count = count + 1',
          "do update set count = count + 1 where event <> 'dismissed'",
        ],
      },
      [postgres]: {
        'several at a time are one': ['set count = c.count + excluded.count', 'set count = c.count + 1'],
      },
      [counted]: {
        'clicks on an action are one': [
          '({ action, count }) => [action, count]',
          '({ action }) => [action, 1]',
        ],
      },
    },
  },
  {
    claim: 'What browsers reported is shown of all push services together, and of each by itself',
    test: { file: 'test/delivery/format-broadcast.test.ts', title: 'what browsers reported is of all' },
    changes: {
      'src/delivery/broadcast/format-broadcast.ts': {
        'clicks on an action are those of the last one': [
          'actions.set(name, (actions.get(name) ?? 0) + count)',
          'actions.set(name, count)',
        ],
        'the others are those of the first one': [
          'receipts.reduce((sum, counts) => sum + counts[event], 0)',
          'receipts.slice(0, 1).reduce((sum, counts) => sum + counts[event], 0)',
        ],
      },
      'src/cli/send/broadcast-summary.ts': {
        'each has those of the first one': [
          'receipts?.find((ofOrigin) => ofOrigin.origin === origin.origin)',
          'receipts?.[0]',
        ],
      },
      'src/operator/console/pages/broadcast-progress.ts': {
        'each has those of the first one': [
          'reported.get(origin)?.[event]',
          '(reported.get(origin) && receipts?.[0])?.[event]',
        ],
      },
    },
  },
  {
    claim:
      'A click on an action of the message is also counted under the name of the action, and on no other action',
    test: { file: suite, title: 'action' },
    changes: {
      [store]: {
        'any name is one': ['action !== undefined && actions.includes(action);', 'action !== undefined;'],
        'actions are not told apart': [
          'action !== undefined && actions.includes(action);',
          'actions.length < 0;',
        ],
        'other events are on one too': ["event === 'clicked' && action !==", 'action !=='],
      },
      [postgres]: {
        'other events are on one too': ["g.event = 'clicked' and b.receipt_actions", 'b.receipt_actions'],
      },
    },
  },
  {
    claim:
      'Reports are counted for 30 days from the start of the broadcast, and who reported is forgotten then',
    test: { file: suite, title: 'the window is open for 30 days' },
    changes: {
      [store]: { 'later ones count': ['and w.ends_at_ms > :nowMs', 'and w.ends_at_ms > :nowMs - 1'] },
      'src/store/receipts.ts': {
        'who reported is remembered': [
          "'select broadcast_id from deskbell.receipt_windows where ends_at_ms <= :nowMs limit 1'",
          "'select broadcast_id from deskbell.receipt_windows where ends_at_ms <= :nowMs * 0 limit 1'",
        ],
      },
      [postgres]: { 'later ones count': ['and w.ends_at_ms > now_ms', 'and w.ends_at_ms > now_ms - 1'] },
      'src/store/sqlite/broadcasts.ts': {
        'from when it was made': ['Math.max(draft.startAtMs, database.now()) +', 'database.now() +'],
        'from before it was made': ['Math.max(draft.startAtMs, database.now()) +', 'draft.startAtMs +'],
      },
      'src/store/postgres/functions/broadcasts.sql': {
        'from when it was made': [
          'greatest(p_start, now_ms) + :receiptWindowMs',
          'now_ms + :receiptWindowMs',
        ],
        'from before it was made': [
          'greatest(p_start, now_ms) + :receiptWindowMs',
          'p_start + :receiptWindowMs',
        ],
      },
    },
  },
  {
    claim: 'Whoever reported receipts of a broadcast is forgotten after 30 days, however many they are',
    test: { file: 'test/store/sqlite-store.test.ts', title: 'whoever reported receipts is forgotten' },
    changes: {
      [counted]: {
        'those of the first step are': ['if (dropped < pruneBatchRows)', 'if (dropped > 0)'],
      },
    },
  },
  {
    claim: 'Where readers get their message at a local time, these 30 days begin with the first of them',
    test: {
      file: 'test/store/split-audiences-suite.ts',
      title: 'receipts are counted for 30 days from the first',
    },
    changes: {
      'src/store/preparations.ts': {
        'they begin when it is made': [
          'set ends_at_ms = b.start_at_ms +',
          'set ends_at_ms = b.created_at_ms +',
        ],
        'they begin a minute later': [
          'set ends_at_ms = b.start_at_ms +',
          'set ends_at_ms = 60000 + b.start_at_ms +',
        ],
      },
    },
  },
  {
    claim: 'A click on an action that no message can have is a click beside all actions, on PostgreSQL too',
    test: { file: suite, title: 'an action that the message does not have' },
    changes: {
      'src/store/postgres/receipts.ts': {
        'it is given to the database as it is': [
          "(action?.includes('\\0') === false ? action : null)",
          '(action ?? null)',
        ],
      },
    },
  },
  {
    claim: 'The name of an action has no control characters',
    test: {
      file: 'test/protocol/message/check-message.test.ts',
      title: 'actions\\[0\\]\\.action of the message is not',
    },
    changes: {
      'src/protocol/message/members.ts': {
        'it is any text': ["schema: { ...filledText, format: 'action-name' }", 'schema: filledText'],
      },
    },
  },
  {
    claim: 'Only subscriptions that are stored have receipts, of broadcasts that ask for them',
    test: { file: suite, title: 'what no broadcast asks for or no stored subscription reports' },
    changes: {
      [store]: {
        'a subscription that is not stored has': [
          'if (window === undefined || subscription === undefined)',
          'if (window === undefined)',
        ],
      },
    },
  },
  {
    claim: 'The receipts of a subscription are deleted with it, and the counts stay',
    test: {
      file: 'test/store/attempts-suite.ts',
      title: 'what browsers have reported is known of a row, as long as it is kept',
    },
    changes: {
      'src/store/sqlite/migrations.ts': {
        'they stay': [
          'delete from receipts where subscription_id = old.id',
          'delete from receipts where subscription_id = old.id and false',
        ],
      },
      'src/store/postgres/migrations.ts': {
        'they stay until the broadcast is over': [
          'where t.subscription_id = r.id and t.broadcast_id in (select broadcast_id from deskbell.receipt_windows);',
          "where t.subscription_id = r.id and t.broadcast_id in (select id from deskbell.broadcasts where state = 'done');",
        ],
      },
    },
  },
  {
    claim: 'A report may arrive before the answer of the push service is stored',
    test: { file: serviceTest, title: 'before its message is known to be accepted' },
    changes: {
      [store]: {
        'it has to be accepted first': [
          'where w.broadcast_id = :broadcastId and',
          "where b.state = 'done' and w.broadcast_id = :broadcastId and",
        ],
      },
    },
  },
  {
    claim: 'The token of a message takes 51 bytes, which are reserved when the broadcast is created',
    test: {
      file: 'test/protocol/message/receipt-token.test.ts',
      title: 'the payload of a message with receipts has room for the token',
    },
    changes: {
      'src/protocol/message/measure-message.ts': {
        'no room is reserved': ['(isWithReceipts ? receiptMemberBytes : 0)', '(isWithReceipts ? 0 : 0)'],
      },
      [token]: { 'it takes more': ['const macLength = 22;', 'const macLength = 24;'] },
    },
  },
  {
    claim:
      'A broadcast or schedule is refused when it is created, where its message has no room for the token, and the largest message is delivered with it',
    test: {
      file: 'test/delivery/receipts.test.ts',
      title: 'is refused when it is created, where its token would not fit',
    },
    changes: {
      'src/delivery/broadcast/create-broadcast.ts': {
        'a broadcast is not': [
          'const content = { isWithReceipts, channel',
          'const content = { isWithReceipts: false, channel',
        ],
      },
      'src/delivery/schedule/create-schedule.ts': {
        'a schedule is not': [
          'encodeMessage(message, { isWithReceipts: receipts, channel',
          'encodeMessage(message, { isWithReceipts: false, channel',
        ],
      },
      'src/protocol/message/measure-message.ts': {
        'one that would just fit is': [
          '(isWithReceipts ? receiptMemberBytes : 0)',
          '(isWithReceipts ? receiptMemberBytes + 1 : 0)',
        ],
      },
    },
  },
  {
    claim: 'A broadcast to a list that is not stored has no tokens',
    test: { file: 'test/delivery/receipts.test.ts', title: 'to a list that is not stored has no tokens' },
    changes: {
      'src/delivery/worker/row-payloads.ts': {
        'each row has one': [
          '(subscriptionId === undefined ? payload : payloadFor(subscriptionId))',
          'payloadFor(subscriptionId ?? 1)',
        ],
        'each row of a message with placeholders has one': [
          'subscriptionId === undefined ? undefined : createToken?.({ broadcastId, subscriptionId })',
          'createToken?.({ broadcastId, subscriptionId: subscriptionId ?? 1 })',
        ],
      },
    },
  },
  {
    claim: 'In code, a sender needs the receipt key for broadcasts and schedules with receipts',
    test: { file: 'test/delivery/receipts.test.ts', title: 'needs the key, and is another content' },
    changes: {
      'src/delivery/broadcast/broadcaster.ts': {
        'a broadcast does not': ['    requireReceiptKey(broadcastOptions);', ''],
        'a schedule does not': ['      requireReceiptKey(scheduleOptions);', ''],
      },
    },
  },
  {
    claim: 'A sender that delivers without the key sends messages without tokens, and warns once',
    test: { file: 'test/delivery/receipts.test.ts', title: 'is delivered by a sender without the key' },
    changes: {
      'src/delivery/worker/create-worker.ts': {
        'it says nothing': ['if (receipts && !settings.receiptKey)', 'if (receipts && settings.receiptKey)'],
      },
      'src/delivery/worker/run-workers.ts': {
        'it warns for each slice': ['    if (reported.has(warning)) return;', ''],
        'its threads do': ['signal, { onWarning: warnOnce,', 'signal, { onWarning: onWarning!,'],
      },
    },
  },
  {
    claim: 'Without `--receipts` no payload has a token, and the path of reports is a 404',
    test: { file: serviceTest, title: 'is described, and only where receipts are taken' },
    changes: {
      [route]: {
        'the path is there': [
          'if (receiptKey === undefined) return;',
          "if (receiptKey === undefined) app.post('/webPush/receipts', { config: { operation } }, async (_, reply) => reply.code(204).send()); if (receiptKey === undefined) return;",
        ],
      },
    },
  },
  {
    claim: 'A broadcast without receipts has no token in its payload, though its sender has the key',
    test: { file: 'test/delivery/receipts.test.ts', title: 'gives each stored row a token of its own' },
    changes: {
      'src/delivery/worker/row-payloads.ts': {
        'it has': ['receipts === undefined ? undefined : receiptKey', 'receiptKey'],
      },
    },
  },
  {
    claim: 'One client address may send so many requests with reports a minute',
    test: { file: serviceTest, title: 'one client address may report so many times a minute' },
    changes: {
      [route]: {
        'any number': [
          "config: { operation, rateLimit: limitPerMinute(receiptsPerMinute, 'report') }",
          'config: { operation }',
        ],
      },
      'src/service/push/rate-limit.ts': {
        'in an hour': ['timeWindow: 60_000', 'timeWindow: 3_600_000'],
        'in a second': ['timeWindow: 60_000', 'timeWindow: 1000'],
      },
    },
  },
  {
    claim: 'Reports do not count as registrations of their client, with several services on a database too',
    test: {
      file: 'test/service/several-services.test.ts',
      title: 'take together no more reports of a client than the limit',
    },
    changes: {
      'src/service/push/rate-limit.ts': { 'they do': ['groupId: ` ${what}`', "groupId: ' all'"] },
    },
  },
  {
    claim: 'Reports stay in the browser until the service has accepted them, and are sent with the next one',
    test: { file: worker, title: 'what the service did not take is kept and reported with the next' },
    changes: {
      [reporting]: {
        'what was refused is dropped': ['if (!isOver) throw', 'if (!status) throw'],
        'a fault of the service is an answer': ['status < 500', 'status <= 500'],
        'Background Sync is not asked for': [
          'await tryLater(receiptsName)',
          'await Promise.resolve(receiptsName)',
        ],
      },
    },
  },
  {
    claim: 'What browsers report within a second is sent together',
    test: { file: worker, title: 'what comes within a second is reported together' },
    changes: {
      [reporting]: {
        'each is sent at once': ['setTimeout(resolve, receiptDelayMs)', 'resolve(receiptDelayMs)'],
        'each is sent by itself': ['store.getAll(all, maxReceipts)', 'store.getAll(all, 1)'],
        'none is kept until then': [
          "await inStore('readwrite', async (store) => void store.put(kept, [...keyPrefix(), kept]));",
          "await new Promise((resolve) => setTimeout(resolve, receiptDelayMs)); await inStore('readwrite', async (store) => void store.put(kept, [...keyPrefix(), kept]));",
        ],
      },
    },
  },
  {
    claim: 'Background Sync reports what is kept, and is tried again where the service does not take it',
    test: { file: worker, title: 'Background Sync reports what is kept' },
    changes: {
      'src/client/service-worker.ts': {
        'nothing is reported then': ['if (tag === receiptsName)', 'if (tag === ownName)'],
        'the browser does not hear that it failed': [
          'waitUntil(sendReceipts())',
          'waitUntil(sendReceipts().catch(() => {}))',
        ],
      },
    },
  },
  {
    claim: 'A notification that was clicked, or that a later one has replaced, is not reported as dismissed',
    test: { file: worker, title: 'a notification that is closed is dismissed' },
    changes: {
      'src/client/worker/clicks.ts': {
        'one that is replaced is': ['!isReplaced && ', ''],
        'one that was clicked is': [' && message.receipt !== clicked', ''],
      },
    },
  },
  {
    claim: 'A message whose token `beforeShow` removes is not reported on',
    test: { file: worker, title: 'unless the site’s hook removes the token' },
    changes: {
      'src/client/worker/show.ts': {
        'it is': ["await report(message, 'shown')", "await report(received, 'shown')"],
        'clicks on it are, where the browser cannot keep all of it': [
          'message: text, receivedAtMs, receipt }));',
          'message: text, receivedAtMs, receipt: received.receipt }));',
        ],
      },
    },
  },
  {
    claim: 'Who reported what is forgotten by a service that runs, when it starts and each hour',
    test: { file: serviceTest, title: 'who reported is forgotten when the service starts and each hour' },
    changes: {
      [route]: {
        'only when it starts': ['setInterval(prune,', 'setInterval(() => {},'],
        'only each hour': ["app.addHook('onReady', async () => prune());", ''],
        'one step of it': [
          'while (!closing.signal.aborted && (await store.receipts.prune()));',
          'await store.receipts.prune();',
        ],
      },
    },
  },
  {
    claim: 'Each occurrence of a schedule asks for receipts, and skips who is inactive, as the schedule does',
    test: { file: 'test/delivery/reader-options.test.ts', title: 'hands on its other options' },
    changes: {
      'src/delivery/schedule/run-schedules.ts': {
        'it sends to all': [
          '...pickDeliveryOptions(schedule),',
          '...pickDeliveryOptions(schedule), skipInactive: undefined,',
        ],
        'it asks for none': [
          '...pickDeliveryOptions(schedule),',
          '...pickDeliveryOptions(schedule), receipts: false,',
        ],
      },
    },
  },
  {
    claim: 'Nobody of given subscriptions is left out as inactive',
    test: { file: 'test/delivery/reader-options.test.ts', title: 'leaves none out as inactive' },
    changes: {
      'src/delivery/broadcast/create-broadcast.ts': {
        'their audience is split': ['split: isOfStored ? split : undefined,', 'split,'],
      },
    },
  },
  {
    claim: 'A dry run to given subscriptions counts no readers, of whom nothing is known',
    test: { file: 'test/cli/broadcasts.test.ts', title: 'with --receipts, serve takes what browsers report' },
    changes: {
      'src/delivery/broadcast/count-readers.ts': {
        'it counts those of all': ["|| !('subscriptions' in audience))", "|| 'subscriptions' in audience)"],
      },
    },
  },
  {
    claim: 'The summary of a broadcast says also that nobody was left out as inactive',
    test: { file: 'test/cli/broadcasts.test.ts', title: 'with --receipts, serve takes what browsers report' },
    changes: {
      'src/cli/send/broadcast-summary.ts': { 'it does not': ['...(inactive === undefined', '...(!inactive'] },
    },
  },
  {
    claim: 'A message whose member `receipt` is none of ours, or has none, is not reported on',
    test: { file: worker, title: 'a message without a token, or with a member' },
    changes: {
      [reporting]: {
        'it is': ['if (!/^[\\w-]{38}$/.test(String(receipt))) return;', 'if (!receipt) return;'],
      },
    },
  },
  {
    claim: 'The service worker shows the notification first, and reports it then',
    test: { file: worker, title: 'a notification is shown first, and reported then' },
    changes: {
      'src/client/worker/show.ts': {
        'it reports first': [
          '  await showAndPassOn(message).catch(',
          "  await report(message, 'shown'); await showAndPassOn(message).catch(",
        ],
      },
    },
  },
  {
    claim: 'Who was left out as inactive is kept as long as what came of the others',
    test: { file: splits, title: 'those who clicked on none of the last broadcasts shown to them' },
    changes: {
      'src/store/retention.ts': {
        'it is kept as long as the broadcast': [
          '           b.attempts_dropped_at_ms is null',
          '           b.id is not null',
        ],
      },
    },
  },
  {
    claim: 'Any worker makes the tokens of receipts, whether it is run with `--receipts` or not',
    test: {
      file: 'test/cli/broadcasts.test.ts',
      title: 'a scheduled or detached broadcast is left to a worker',
    },
    changes: {
      'src/cli/send/open-sender.ts': {
        'only with it': [
          '    receiptKey,',
          '    receiptKey: configuration.receipts ? receiptKey : undefined,',
        ],
      },
    },
  },
  {
    claim: 'A message to one subscription has no room for a token, with `--receipts` too',
    test: { file: 'test/cli/broadcasts.test.ts', title: 'with --receipts, serve takes what browsers report' },
    changes: {
      'src/cli/commands/send.ts': {
        'it has': ['configuration.receipts && !isForOne(flags)', 'configuration.receipts'],
      },
    },
  },
  {
    claim:
      'An operator with the role `send` sees what came of its broadcasts without the users, in each form',
    test: { file: 'test/operator/roles.test.ts', title: 'the role send sends, and sees its own broadcasts' },
    changes: {
      'src/operator/api/outcomes.ts': {
        'with them, where it names one': ['items: found.map(show)', 'items: found'],
        'with them, in the list': ['items: items.map(show), next', 'items, next'],
        'with them, as CSV': ['attempts, id, shownTo(operator))', 'attempts, id, (one) => one)'],
      },
    },
  },
  {
    claim: 'The review counts those who are inactive over as many broadcasts as the broadcast does',
    test: {
      file: 'test/operator/console-languages.test.ts',
      title: 'the review says how many get which text',
    },
    changes: {
      'src/delivery/broadcast/count-readers.ts': {
        'over one': ['lookedAt), skipInactive)', 'lookedAt), skipInactive && 1)'],
        'and those who have the channel off': [
          '?? channel.isOnByDefault)) counts',
          '?? channel.isOnByDefault) && isInactive !== true) counts',
        ],
        'but not those whose local time is over': [
          'else if (isInactive === true) counts',
          'else if (isInactive === true && group !== undefined) counts',
        ],
      },
    },
  },
  {
    claim: 'The page of a broadcast says of a subscription that it was left out as inactive, and why',
    test: {
      file: 'test/operator/console-languages.test.ts',
      title: 'the review says how many get which text',
    },
    changes: {
      'src/operator/console/outcomes-table.ts': { 'it does not': ["inactive: 'left out',", ''] },
      'src/views/row-outcome.ts': {
        'it says of how many broadcasts wrongly': [
          'no click on ${lastBroadcasts(skipInactive)} shown there',
          'no click on ${lastBroadcasts(1)} shown there',
        ],
      },
    },
  },
  {
    claim: 'A notification is reported on also where the browser cannot keep all of its message',
    test: { file: worker, title: 'a notification is shown first, and reported then' },
    changes: {
      'src/client/worker/show.ts': {
        'clicks on it are not': [
          'message: text, receivedAtMs, receipt }));',
          'message: text, receivedAtMs }));',
        ],
      },
    },
  },
  {
    claim: 'Where a report cannot be stored, the answer is a 503, and the browser keeps it',
    test: { file: serviceTest, title: 'what cannot be stored is a 503' },
    changes: {
      [route]: {
        'it is a 204': [
          'await store.receipts.add(receipts);',
          'await store.receipts.add(receipts).catch(() => {});',
        ],
      },
    },
  },
  {
    claim: 'A report has the token, the event and the name of the action, and nothing else',
    test: { file: worker, title: 'what became of a notification is reported with its token' },
    changes: {
      [reporting]: {
        'it has the time too': [
          'JSON.stringify({ token: receipt, event, action })',
          'JSON.stringify({ token: receipt, event, action, at: Date.now() })',
        ],
      },
    },
  },
  {
    claim: 'The service answers 204 to every well-formed report',
    test: { file: 'test/service/receipts.test.ts', title: 'counts what was reported' },
    changes: {
      'src/service/push/receipts.ts': {
        'the name of an action may not be long': [
          "Type.String({ description: 'With `clicked`",
          "Type.String({ maxLength: 128, description: 'With `clicked`",
        ],
      },
    },
  },
  {
    claim: 'A report whose token is not valid changes nothing, and those beside it count',
    test: { file: 'test/service/receipts.test.ts', title: '10,000 forged receipts change no count' },
    changes: {
      'src/service/push/receipts.ts': {
        'none beside it counts': [
          'if (receipts.length > 0)',
          'if (receipts.length === request.body.receipts.length)',
        ],
      },
    },
  },
  {
    claim:
      'Of a long list, each is prepared once, and all who are inactive are counted beside the recipients',
    test: { file: splits, title: 'those who clicked on none of the last broadcasts shown to them' },
    changes: {
      'src/store/preparations.ts': {
        'what was prepared is prepared again': ['Math.min(from + listedSets, end)', 'from + listedSets'],
        'only those of the last step are counted': [
          'inactive = inactive + :inactive',
          'inactive = :inactive',
        ],
      },
    },
  },
  {
    claim: 'A report goes only to the service of its own registration, at the address that was subscribed to',
    test: { file: worker, title: 'what the service did not take is kept and reported with the next' },
    changes: {
      [reporting]: {
        'what waits of others goes there, too': ["[worker.registration.scope, 'receipt']", "['receipt']"],
      },
    },
  },
  {
    claim: 'A click on an action is reported with the action',
    test: { file: worker, title: 'a notification that is closed is dismissed' },
    changes: {
      'src/client/worker/clicks.ts': {
        'without it': ["report(message, 'clicked', event.action || undefined)", "report(message, 'clicked')"],
      },
    },
  },
  {
    claim: 'The test group of the console gets the message in any case, who is inactive too',
    test: {
      file: 'test/operator/console-languages.test.ts',
      title: 'the review says how many get which text',
    },
    changes: {
      'src/operator/console/pages/send.ts': {
        'only where it is reviewed': [
          '          ...toTestOptions(fields),\n',
          '          ...toOptions(fields),\n',
        ],
      },
    },
  },
];
