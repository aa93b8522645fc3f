// Broadcasts as they are shown (without payload and content hash), and how to pause, resume and cancel them.
import { countMeanings } from '../delivery/broadcast/meanings.ts';
import {
  isoTime,
  isoTimeOf,
  reachedShare,
  shareOfAccepted,
  stateOf,
  totalReceipts,
} from '../delivery/broadcast/format-broadcast.ts';
import {
  measureReach,
  outlookOf,
  type Progress,
  waitMeanings,
  waitsOf,
} from '../delivery/broadcast/progress.ts';
import { givenKey } from '../delivery/broadcast/create-broadcast.ts';
import { Optional, Type } from '../http/schema.ts';
import { readPayloadTexts } from '../protocol/message/read-message.ts';
import { type Broadcast, settlements } from '../store/broadcasts.ts';
import { pickDeliveryOptions } from '../store/delivery-options.ts';
import { leftOutCodes } from '../store/split-audience.ts';
import type { AuditRecord } from '../store/operators.ts';
import type { OutcomeInterval } from '../store/statistics.ts';
import { alarmToJson, alarmView } from './alarms.ts';
import { askedAudienceSchema, one } from './audience.ts';
import { auditView, changesSchema } from './audit.ts';
import { storedOptionSchemas } from './message.ts';
import { idParams, operation, type View } from './operation.ts';

const share = Optional.Unsafe<number>({
  type: 'number',
  minimum: 0,
  description: 'Counts of accepted messages. Absent if none was accepted.',
});

export const broadcastStates = ['preparing', 'scheduled', 'running', 'paused', 'cancelled', 'done'] as const;

const count = Type.Integer({ minimum: 0 });

const zero = (names: readonly string[]): Readonly<Record<string, number>> =>
  Object.fromEntries(names.map((name) => [name, 0]));
const exampleCounts = { accepted: 400, gone: 2, rejected: 20 };

const settledCounts = Object.fromEntries(settlements.map((name) => [name, count]));

const origin = Type.Named(
  'PushServiceCounts',
  { origin: Type.String(), attempts: count, ...settledCounts },
  {
    description: 'The counts at one push service.',
    examples: [
      { origin: 'https://fcm.googleapis.com', attempts: 422, ...zero(settlements), ...exampleCounts },
    ],
  },
);

const receiptCounts = Type.Named(
  'ReceiptCounts',
  {
    origin: Type.String(),
    shown: count,
    clicked: count,
    dismissed: count,
    actions: Type.Unsafe({ type: 'object', additionalProperties: count }),
  },
  { description: 'The reports of browsers, by push service.' },
);

export const creatorSchema = Type.Model(
  'BroadcastCreator',
  Type.Union(
    [
      one('CreatedByOperator', 'operator', Type.String(), 'An operator, by the API or the console.'),
      one('CreatedByCommandLine', 'commandLine', Type.String(), 'The command line, on this machine.'),
      one('CreatedBySchedule', 'schedule', Type.Integer(), 'A schedule.'),
      one('CreatedByBell', 'bell', Type.String(), 'A bell, by its name.'),
      one('CreatedByApplication', 'application', Type.String(), 'An application with the library.'),
    ],
    { description: 'The creator of the broadcast. Absent if the creator was not recorded.' },
  ),
);

const receiptTotals = Type.Named(
  'ReceiptTotals',
  { shown: count, shownShare: share, clicked: count, clickedShare: share, dismissed: count },
  {
    description:
      'The reports of browsers, for all push services together. Absent if the broadcast does not ask for receipts.',
  },
);

const reachTime = Type.Named(
  'ReachTime',
  {
    percent: Type.Integer({
      description: 'A share of the recipients. Recipients that were removed before their turn do not count.',
    }),
    seconds: Optional.Integer({
      description:
        'How many seconds after the start push services had accepted the message for this share, at the latest. Absent if they have not accepted it for this share.',
    }),
    precisionSeconds: Optional.Integer({
      description: 'By how many seconds the time may be too long, at most.',
    }),
  },
  { description: 'The time until a share of the recipients was reached.' },
);

const countsSchema = Type.Named(
  'Counts',
  Object.fromEntries(
    Object.entries(countMeanings).map(([name, description]) => [
      name,
      Type.Integer({ ...(name !== 'unaccounted' && { minimum: 0 }), description }),
    ]),
  ),
  { examples: [{ ...zero(Object.keys(countMeanings)), ...exampleCounts, pending: 578 }] },
);

const schema = Type.Named('Broadcast', {
  id: Type.Integer(),
  state: Type.String({
    enum: broadcastStates,
    examples: ['running'],
    description:
      '`preparing`: the audience is being selected, and nothing is sent until the audience is complete.',
  }),
  title: Optional.String({
    description: 'Title of the message. Empty if the payload is not a message. Events leave this member out.',
  }),
  audience: Type.Optional(askedAudienceSchema),
  createdBy: Type.Optional(creatorSchema),
  recipients: Type.Integer({
    description:
      'The number of subscriptions in the audience when the broadcast was created. The counts add up to this number. While the broadcast is `preparing`, the number of subscriptions found so far.',
    examples: [1000],
  }),
  inactive: Optional.Integer({
    minimum: 0,
    description: 'The number of subscriptions that were left out as inactive. Absent without `skipInactive`.',
  }),
  leftOut: Optional.Named(
    'LeftOut',
    Object.fromEntries(Object.keys(leftOutCodes).map((reason) => [reason, Type.Optional(count)])),
    {
      description:
        'The numbers of readers who were left out of the audience, by reason, without zeros, as long as these numbers are kept. Lists leave this field out.',
    },
  ),
  texts: Optional.Array(Type.Named('RecipientsOfText', { language: Type.String(), recipients: count }), {
    description:
      'The number of readers for each translation. All other readers get the message itself. Absent if the message has no translations.',
  }),
  counts: countsSchema,
  waiting: Type.Integer({
    description: 'The number of pending messages that are stored one by one, to be sent later.',
  }),
  toRetry: Type.Integer({
    description:
      'The number of waiting messages that were tried and will be tried again. Other waiting messages are held back, or were put off and not tried yet.',
  }),
  heldBack: Type.Array(Type.Named('RowsHeldBack', { origin: Type.String(), rows: Type.Integer() }), {
    description: 'Waiting messages that are held back, because their push service refuses our token or key.',
  }),
  waits: Type.Array(
    Type.Named('Wait', {
      for: Type.String({ enum: Object.keys(waitMeanings) }),
      rows: count,
      origin: Optional.String({ description: 'The push service’s origin. Only with `pushService`.' }),
    }),
    {
      description:
        'What the pending messages wait for. The rows add up to the number of pending messages. `now`: these messages can be sent now. ' +
        '`localTime`: they wait for their readers’ local time, or for the end of quiet hours. `retry`: they were tried, and wait ' +
        'for the next attempt. `turn`: they were put off, and not tried yet. `pushService`: the push service refuses our token or key.',
      examples: [[{ for: 'now', rows: 578 }]],
    },
  ),
  nextPartAt: Optional.Time(
    'When the next message can be sent, if none can be sent now; absent if this is not known.',
  ),
  reachedShare: Optional.Unsafe<number>({
    type: 'number',
    minimum: 0,
    maximum: 1,
    examples: [0.4],
    description:
      'Share of the recipients whose push services accepted the message. Absent if there are no recipients.',
  }),
  origins: Type.Array(origin),
  alarms: Type.Array(alarmView.schema),
  receipts: Optional.Array(receiptCounts),
  receiptTotals: Type.Optional(receiptTotals),
  reachTimes: Optional.Array(reachTime, {
    description: 'Lists leave this field out.',
  }),
  changes: Type.Optional(changesSchema),
  ...storedOptionSchemas,
  idempotencyKey: Optional.String(),
  createdAt: Type.Time(),
  startAt: Type.Time(),
  expiresAt: Type.Time(),
  finishedAt: Optional.Time(),
});

/** A broadcast with its counts and its alarms. */
export const broadcastView: View<Broadcast> = {
  schema,
  toJson: (broadcast) => ({
    title: readPayloadTexts(broadcast.payload).title,
    ...broadcastToJson(broadcast),
  }),
};

/** Converts a broadcast to JSON, with figures that responses with several broadcasts do not contain. */
export const broadcastWithTimesToJson = (
  broadcast: Broadcast,
  intervals: readonly OutcomeInterval[],
  leftOut: object,
  changes: readonly AuditRecord[],
): object => ({
  ...broadcastView.toJson(broadcast),
  leftOut,
  reachTimes: measureReach(broadcast, intervals),
  changes: changes.map(auditView.toJson),
});

/** The form for events, webhooks and logs. It has no title, so only readers see message texts. Times are ISO 8601. */
export function broadcastToJson(broadcast: Broadcast): object {
  const { receipts, finishedAtMs, ...options } = broadcast;
  return {
    id: broadcast.id,
    state: stateOf(broadcast),
    audience: broadcast.audience,
    createdBy: broadcast.createdBy,
    recipients: broadcast.recipients,
    inactive: broadcast.inactive,
    texts: broadcast.texts,
    counts: broadcast.counts,
    waiting: broadcast.waiting,
    toRetry: broadcast.toRetry,
    heldBack: broadcast.heldBack,
    waits: waitsOf(broadcast),
    nextPartAt: isoTimeOf(outlookOf(broadcast, 0).nextPartAtMs),
    reachedShare: reachedShare(broadcast),
    origins: broadcast.origins,
    alarms: broadcast.alarms.map(alarmToJson),
    receipts,
    receiptTotals: receiptTotalsOf(broadcast),
    ...pickDeliveryOptions(options),
    idempotencyKey: broadcast.idempotencyKey && givenKey(broadcast.idempotencyKey),
    createdAt: isoTime(broadcast.createdAtMs),
    startAt: isoTime(broadcast.startAtMs),
    expiresAt: isoTime(broadcast.expiresAtMs),
    finishedAt: isoTimeOf(finishedAtMs),
  };
}

function receiptTotalsOf(broadcast: Broadcast): object | undefined {
  const total = totalReceipts(broadcast);
  if (total === undefined) return undefined;
  const { shown, clicked, dismissed } = total;
  return {
    shown,
    shownShare: shareOfAccepted(shown, broadcast),
    clicked,
    clickedShare: shareOfAccepted(clicked, broadcast),
    dismissed,
  };
}

export const progressToJson = ({ broadcast, settled, ratePerSecond, etaSeconds }: Progress): object => ({
  ...broadcastToJson(broadcast),
  settled,
  ratePerSecond: Math.round(ratePerSecond),
  etaSeconds,
});

const change = (name: 'pause' | 'resume' | 'cancel', summary: string, description?: string) =>
  operation({
    route: `POST /v1/broadcasts/:id/${name}`,
    tag: 'Sending',
    operationId: `${name}Broadcast`,
    summary,
    ...(description !== undefined && { description }),
    params: idParams,
    answer: broadcastView,
    errors: ['ERR_BROADCAST_NOT_FOUND', 'ERR_BROADCAST_STATE'],
    action: `broadcast.${name}`,
    target: ({ id }) => `broadcast ${id}`,
    run: ({ store }, { id }) => store.broadcasts[name](id),
  });

export const broadcastChanges = {
  pause: change('pause', 'Pauses a broadcast', 'Workers deliver their current page, and then stop.'),
  resume: change('resume', 'Resumes a broadcast that is paused'),
  cancel: change(
    'cancel',
    'Cancels a broadcast for good',
    'Messages that were already sent are not affected.',
  ),
};
