// `deskbell alarms`: what is wrong now, and who knows of it.
import { userInfo } from 'node:os';
import { Option, type Command } from 'commander';
import { acknowledgeAlarm, readAlarms } from '../../delivery/alarms/read-alarms.ts';
import { formatAlarmCount, maxNoteLength, type StandingAlarm } from '../../delivery/alarms/standing-alarm.ts';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { createWarningReader } from '../../delivery/installation-warnings.ts';
import { standingAlarmView } from '../../operations/standing-alarm.ts';
import { createCommand } from '../command.ts';
import { createDataCommand, createListCommand } from '../data/data-command.ts';
import type { DataDirectory } from '../data/data-directory.ts';
import { parseNote, parseOperatorName } from '../flags/arguments.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';

export function alarmsCommand(context: Context): Command {
  return createCommand({
    name: 'alarms',
    description:
      'Lists what is wrong now, and acknowledges it. An alarm stands as long as its condition does.',
    examples: ['deskbell alarms list'],
  })
    .addCommand(listCommand(context))
    .addCommand(acknowledgeCommand(context));
}

const warningsOf = ({ store, vapidKeys }: DataDirectory) =>
  createWarningReader(store, vapidKeys.keyDirectory);

const listCommand = (context: Context): Command =>
  createListCommand(context, {
    description: 'Prints each alarm: what is wrong, about how many, since when, and who knows of it.',
    examples: ['deskbell alarms list', 'deskbell alarms list --json'],
    rowsOf: async (data) => (await readAlarms(data.store, warningsOf(data))).standing,
    toJson: standingAlarmView.toJson,
    toText,
    ifEmpty: 'Nothing is wrong now. "deskbell broadcasts show" prints what a broadcast has met.',
  });

interface AcknowledgeFlags extends JsonFlag {
  readonly note: string;
  readonly name?: string;
}

function acknowledgeCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'acknowledge',
    description:
      'Notes that somebody knows of an alarm, until its condition ends, concerns twice as many, or begins again.',
    json: 'Prints JSON.',
    examples: ['deskbell alarms acknowledge no-worker --note "The machine is being replaced."'],
  })
    .argument('<id>', 'Alarm as `deskbell alarms list` shows it.')
    .addOption(
      new Option('--note <text>', `For other operators, at most ${maxNoteLength} characters.`)
        .argParser(parseNote)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--name <name>', 'Who knows of it. Default: the user of the system.').argParser(
        parseOperatorName,
      ),
    )
    .onData(async (data, id: string, { note, name = systemUser(), json }: AcknowledgeFlags) => {
      const { store } = data;
      const action = { operator: name, action: 'alarm.acknowledge', target: `alarm ${id}` };
      const record = await store.audit.begin(action);
      const finish = (status: number) => store.audit.finish(record, { status });
      const acknowledging = acknowledgeAlarm(store, warningsOf(data), { id, note, operator: name });
      const alarm = await acknowledging.catch(async (error: unknown) => {
        await finish(error instanceof DeskbellError && error.code === 'ERR_ALARM_NOT_FOUND' ? 404 : 500);
        throw error;
      });
      await finish(200);
      await output.result({ json }, standingAlarmView.toJson(alarm), `Acknowledged ${id} as ${name}.`);
    });
}

/** @throws {DeskbellError} ERR_USAGE where the user of this process has no name, as in a container that is given a number */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch (cause) {
    throw new DeskbellError('ERR_USAGE', 'The user of this process has no name; give --name', { cause });
  }
}

function toText(alarm: StandingAlarm): string {
  const { id, what, remedy, sinceMs, broadcastIds, acknowledgement } = alarm;
  const count = formatAlarmCount(alarm);
  const facts = [
    ...(count === '' ? [] : [count]),
    ...(sinceMs === undefined ? [] : [`since ${isoTime(sinceMs)}`]),
    ...(broadcastIds.length === 0 ? [] : [`broadcasts ${broadcastIds.join(', ')}`]),
  ];
  const known =
    acknowledgement === undefined
      ? ''
      : `\n  ${acknowledgement.operator} knows of it since ${isoTime(acknowledgement.atMs)}: ${acknowledgement.note}`;
  return `${id}  ${what}${facts.length === 0 ? '' : `\n  ${facts.join(', ')}`}${remedy && `\n  ${remedy}`}${known}`;
}
