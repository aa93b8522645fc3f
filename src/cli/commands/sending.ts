// `deskbell sending`: pauses and resumes sending. A copy of a store must not send while the original does.
import type { Command } from 'commander';
import { describePause } from '../../delivery/alarms/installation-warnings.ts';
import { describeResumption } from '../../delivery/schedule/resume-sending.ts';
import { pauseStore, resumeStore } from '../../operations/schedules.ts';
import { type Context, createCommand } from '../command.ts';
import { createDataCommand, perform } from '../data/data-command.ts';
import type { JsonFlag } from '../output/output.ts';
import { createCommandHint } from '../output/command-hint.ts';
import { formatResumption, resumptionToJson } from '../output/format-resumption.ts';

interface ResumeFlags extends JsonFlag {
  readonly withBroadcasts?: true;
  readonly withMissed?: true;
}

export function sendingCommand(context: Context): Command {
  return createCommand({
    name: 'sending',
    description:
      'Pauses and resumes what the store sends by itself: schedules, webhook events, and existing broadcasts. ' +
      'Use it on a copy of a store whose original stays in use. Explicit commands, requests and bells still send during the pause.',
    examples: ['deskbell sending show', 'deskbell sending pause', 'deskbell sending resume'],
  })
    .addCommand(showCommand(context))
    .addCommand(pauseCommand(context))
    .addCommand(resumeCommand(context));
}

function showCommand(context: Context): Command {
  const { environment, output } = context;
  return createDataCommand(environment, {
    name: 'show',
    description: 'Prints whether sending is paused, and what is waiting for you to resume sending.',
    json: 'Prints JSON.',
    examples: ['deskbell sending show', 'deskbell sending show --json'],
  }).onData(async ({ store }, flags: JsonFlag) => {
    const resumption = await describeResumption(store);
    const { pause } = resumption;
    const text =
      pause === undefined
        ? 'Sending is not paused.'
        : `${describePause(pause)}\n${formatResumption(resumption, createCommandHint(context, flags))}`;
    await output.result(flags, resumptionToJson(resumption), text);
  });
}

function pauseCommand(context: Context): Command {
  const { environment, output } = context;
  return createDataCommand(environment, {
    name: 'pause',
    description:
      'Pauses sending. Run this command on a copy of the disk, or on a database that was recovered to a point in ' +
      'time, before any process uses the data. The command pauses broadcasts that are running or scheduled. Workers ' +
      'stop delivering within seconds.',
    json: 'Prints JSON.',
    examples: ['deskbell sending pause --data /srv/copy'],
  }).onData(async (data, flags: JsonFlag) => {
    await perform(data, pauseStore, {});
    const resumption = await describeResumption(data.store);
    await output.result(flags, resumptionToJson(resumption), 'Sending is paused.');
    if (!flags.json) output.diagnostic(formatResumption(resumption, createCommandHint(context, flags)));
  });
}

function resumeCommand(context: Context): Command {
  const { environment, output } = context;
  return createDataCommand(environment, {
    name: 'resume',
    description:
      'Resumes sending. Schedules and webhook events continue. By default, Deskbell skips the broadcasts that ' +
      'schedules missed during the pause, and does not resume paused broadcasts.',
    json: 'Prints JSON.',
    examples: ['deskbell sending resume', 'deskbell sending resume --with-broadcasts'],
  })
    .option('--with-broadcasts', 'Also continues the broadcasts that were paused together with sending.')
    .option(
      '--with-missed',
      'Also sends, immediately, the broadcasts that schedules missed within the last hour.',
    )
    .onData(async (data, flags: ResumeFlags) => {
      const { withBroadcasts = false, withMissed = false } = flags;
      const before = await describeResumption(data.store);
      const resumed = await perform(data, resumeStore, { withBroadcasts, withMissed });
      if (flags.json)
        return output.line(JSON.stringify({ ...resumptionToJson(before), paused: false, resumed }));
      if (before.pause === undefined) return output.line('Sending was not paused.');
      await output.line('Sending is resumed.');
      const left = { ...before, missed: withMissed ? [] : before.missed };
      const broadcastIds = left.broadcastIds.filter((id) => !resumed.includes(id));
      const hint = createCommandHint(context, flags);
      output.diagnostic(formatResumption({ ...left, pause: undefined, broadcastIds }, hint));
    });
}
