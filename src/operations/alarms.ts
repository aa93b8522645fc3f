// Alarms: what is wrong now and who acknowledged it, and the alarms that one broadcast has raised.
import { alarmKinds, alarmRanks } from '../delivery/alarms/alarm-kinds.ts';
import { acknowledgeAlarm, readAlarms } from '../delivery/alarms/read-alarms.ts';
import { alarmUnits, maxNoteLength, type StandingAlarm } from '../delivery/alarms/standing-alarm.ts';
import { isoTime, isoTimeOf } from '../delivery/broadcast/format-broadcast.ts';
import { Optional, Type } from '../http/schema.ts';
import type { Alarm } from '../store/broadcasts.ts';
import { type NamedList, operation, type View } from './operation.ts';

const schema = Type.Named('Alarm', {
  origin: Type.String({
    description: 'The push service’s origin. Empty if the alarm does not concern a push service.',
  }),
  reason: Type.String(),
  detail: Type.String({ description: 'The push service’s own words.' }),
  rows: Type.Integer({ description: 'The number of messages that the alarm concerns.' }),
  firstAt: Type.Time(),
});

export const alarmView: View<Alarm> = { schema, toJson: alarmToJson };

export function alarmToJson({ firstAtMs, ...alarm }: Alarm): object {
  return { ...alarm, firstAt: isoTime(firstAtMs) };
}

const example = {
  id: 'deletions-held:fcm.googleapis.com',
  kind: 'deletions-held',
  rank: 'soon',
  pushService: 'fcm.googleapis.com',
  what: 'fcm.googleapis.com: The push service calls subscriptions gone and accepts almost nothing. They are kept.',
  remedy: 'If it is right, confirm the deletions; if it has a fault, discard them.',
  since: '2027-01-01T09:00:00.000Z',
  count: 360,
  unit: 'subscription',
  isAtLeast: false,
  broadcasts: [7, 9],
  link: '/console/push-services',
  acknowledgement: {
    operator: 'ann',
    note: 'I have asked the push service.',
    at: '2027-01-01T09:10:00.000Z',
  },
};

const standingAlarmView: View<StandingAlarm> = {
  schema: Type.Named(
    'StandingAlarm',
    {
      id: Type.String({
        description: 'The id of the alarm, which does not change as long as the alarm stands.',
      }),
      kind: Type.String({
        description: `${alarmKinds.map((kind) => `\`${kind}\``).join(', ')}, or the reason of an alarm that broadcasts have raised.`,
      }),
      rank: Type.String({
        enum: [...alarmRanks],
        description:
          '`urgent`: something will not be sent or stored until somebody acts. `soon`: somebody has to decide. `note`: the alarm concerns single messages.',
      }),
      pushService: Optional.String({ description: 'Host or domain.' }),
      what: Type.String(),
      remedy: Type.String(),
      detail: Optional.String({ description: 'The push service’s own words.' }),
      since: Optional.Time(),
      count: Type.Integer({
        description: 'An approximate number. If several broadcasts have the same alarm, the largest number.',
      }),
      unit: Type.String({ enum: [...alarmUnits] }),
      isAtLeast: Type.Boolean({ description: 'True if there may be more than `count`.' }),
      broadcasts: Type.Array(Type.Integer()),
      link: Type.String({ description: 'The page of the console on which you can deal with the alarm.' }),
      acknowledgement: Optional.Named('AcknowledgedBy', {
        operator: Type.String(),
        note: Type.String(),
        at: Type.Time(),
      }),
    },
    { examples: [example] },
  ),
  toJson: ({ sinceMs, broadcastIds, pushService, detail, acknowledgement, ...alarm }) => ({
    ...alarm,
    pushService: pushService || undefined,
    detail: detail || undefined,
    since: isoTimeOf(sinceMs),
    broadcasts: broadcastIds,
    acknowledgement: acknowledgement && {
      operator: acknowledgement.operator,
      note: acknowledgement.note,
      at: isoTime(acknowledgement.atMs),
    },
  }),
};

export const listAlarms: NamedList<StandingAlarm> = {
  path: '/v1/alarms',
  tag: 'Installation',
  operationId: 'listAlarms',
  summary: 'Lists the current alarms',
  description: 'An alarm stands as long as its condition lasts.',
  view: standingAlarmView,
  nameOf: ({ id }) => id,
  read: async ({ store, readWarnings }) => (await readAlarms(store, readWarnings)).standing,
};

export const acknowledge = operation({
  route: 'POST /v1/alarms/:id/acknowledge',
  tag: 'Installation',
  operationId: 'acknowledgeAlarm',
  summary: 'Acknowledges an alarm',
  description:
    'The alarm stays on the list, with your name and note, until its condition ends. Deskbell removes the acknowledgement if the condition ends and begins again, or if the alarm affects at least twice as many messages or broadcasts as when you acknowledged it. For `store-failed` and `keys-missing`, an acknowledgement always lasts an hour.',
  params: {
    id: Type.String({
      description: 'The id of the alarm, percent-encoded, such as deletions-held%3Afcm.googleapis.com',
    }),
  },
  body: Type.Named(
    'Acknowledgement',
    {
      note: Type.String({
        minLength: 1,
        maxLength: maxNoteLength,
        description: 'A note for other operators.',
      }),
    },
    { additionalProperties: false, examples: [{ note: 'I have asked the push service.' }] },
  ),
  answer: standingAlarmView,
  errors: ['ERR_ALARM_NOT_FOUND'],
  action: 'alarm.acknowledge',
  target: ({ id }) => `alarm ${id}`,
  run: ({ store, readWarnings }, { id, note }, operator) =>
    acknowledgeAlarm(store, readWarnings, { id, note, operator }),
});
