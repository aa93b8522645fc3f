// /v1/alarms: what is wrong now, and who knows of it.
import { acknowledgeAlarm, readAlarms } from '../../delivery/alarms/read-alarms.ts';
import { maxNoteLength } from '../../delivery/alarms/standing-alarm.ts';
import { Type } from '../../http/schema.ts';
import type { ServiceApp } from '../../http/service-app.ts';
import { standingAlarmView } from '../../operations/standing-alarm.ts';
import type { OperatorContext } from '../context.ts';
import { operationsOf } from './operations.ts';

const body = Type.Model(
  'Acknowledgement',
  Type.Object(
    {
      note: Type.String({ minLength: 1, maxLength: maxNoteLength, description: 'For other operators.' }),
    },
    { additionalProperties: false, examples: [{ note: 'I have asked the push service.' }] },
  ),
);

export function addAlarmRoutes(app: ServiceApp, { store, readWarnings }: OperatorContext): void {
  const operations = operationsOf(app, 'Installation');

  operations.addNamedList('/v1/alarms', {
    operationId: 'listAlarms',
    summary: 'What is wrong now',
    description: 'An alarm stands as long as its condition does.',
    view: standingAlarmView,
    nameOf: ({ id }) => id,
    read: async () => (await readAlarms(store, readWarnings)).standing,
  });

  operations.add('POST /v1/alarms/:id/acknowledge', {
    operationId: 'acknowledgeAlarm',
    summary: 'Notes that you know of an alarm',
    description:
      'It stays on the list, with your name and note, until its condition ends. The note ends before that if the condition gets worse: if it concerns twice as many, or begins again.',
    params: {
      id: Type.String({ description: 'Percent-encoded: deletions-held%3Afcm.googleapis.com' }),
    },
    body,
    answer: standingAlarmView,
    errors: ['ERR_ALARM_NOT_FOUND'],
    audit: { action: 'alarm.acknowledge', target: (request) => `alarm ${request.params.id}` },
    handle: async ({ params: { id }, body: { note }, operator }) =>
      standingAlarmView.toJson(
        await acknowledgeAlarm(store, readWarnings, { id, note, operator: operator?.name ?? '' }),
      ),
  });
}
