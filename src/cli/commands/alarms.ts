// `deskbell alarms`: lists what is wrong now, and acknowledges alarms.
import { Option, type Command } from 'commander';
import { formatAlarmCount, maxNoteLength, type StandingAlarm } from '../../delivery/alarms/standing-alarm.ts';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { acknowledge, listAlarms } from '../../operations/alarms.ts';
import { type Context, createCommand } from '../command.ts';
import { createChangeCommand, createNamedListCommand, processUser } from '../data/data-command.ts';
import { parseOperatorName } from '../flags/arguments.ts';

export function alarmsCommand(context: Context): Command {
  return createCommand({
    name: 'alarms',
    description:
      'Lists and acknowledges alarms, which say what is wrong now. An alarm stands as long as its condition lasts.',
    examples: ['deskbell alarms list'],
  })
    .addCommand(
      createNamedListCommand(context, listAlarms, {
        description:
          'Prints each alarm with the problem, the number of affected messages or broadcasts, the start, and the name ' +
          'of the person who has acknowledged it.',
        examples: ['deskbell alarms list', 'deskbell alarms list --json'],
        toText,
        ifEmpty: 'Nothing is wrong now. "deskbell broadcasts show" prints the alarms of a broadcast.',
      }),
    )
    .addCommand(acknowledgeCommand(context));
}

const acknowledgeCommand = (context: Context): Command =>
  createChangeCommand(context, acknowledge, {
    name: 'acknowledge',
    examples: ['deskbell alarms acknowledge no-worker --note "The machine is being replaced."'],
    argument: 'Alarm as `deskbell alarms list` shows it.',
    flags: { note: ['--note <text>', `Note for other operators, with at most ${maxNoteLength} characters.`] },
    operatorOf: ({ name = processUser() }) => String(name),
    toText: ({ id, acknowledgement }) => `Acknowledged ${id} as ${acknowledgement?.operator ?? ''}.`,
  }).addOption(
    new Option(
      '--name <name>',
      'Name of the person who acknowledges the alarm. Default: the user of this process.',
    ).argParser(parseOperatorName),
  );

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
