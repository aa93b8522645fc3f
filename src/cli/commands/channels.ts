// `deskbell channels`: topics that readers switch on and off.
import type { Command } from 'commander';
import type { Channel } from '../../audience/channels.ts';
import { listChannels, removeChannel, updateChannel } from '../../operations/channels.ts';
import { type Context, createCommand } from '../command.ts';
import { createChangeCommand, createNamedListCommand } from '../data/data-command.ts';

export const channelsCommand = (context: Context): Command =>
  createCommand({
    name: 'channels',
    description: 'Lists, creates, changes and removes channels: topics that readers switch on and off.',
    examples: ['deskbell channels list', 'deskbell channels set news --title News'],
  })
    .addCommand(
      createNamedListCommand(context, listChannels, {
        description: 'Prints each channel with its default and its titles.',
        examples: ['deskbell channels list', 'deskbell channels list --json'],
        toText: formatChannel,
        ifEmpty: 'No channels yet.',
      }),
    )
    .addCommand(
      createChangeCommand(context, updateChannel, {
        name: 'set',
        examples: [
          'deskbell channels set news --title News --title-in de=Nachrichten',
          'deskbell channels set offers --title Offers --default off',
        ],
        argument: 'The channel’s name: letters, digits and ". _ : -".',
        flags: {
          title: ['--title <text>'],
          titles: [
            '--title-in <language=text>',
            'Title in a language. An empty title removes the title in this language. You can repeat this option.',
          ],
          isOnByDefault: ['--default <state>'],
        },
        toText: formatChannel,
      }),
    )
    .addCommand(
      createChangeCommand(context, removeChannel, {
        name: 'remove',
        examples: ['deskbell channels remove news'],
        argument: 'The channel’s name.',
        toText: (_removed, { name }) => `Removed the channel ${name}.`,
      }),
    );

function formatChannel({ name, title, titles, isOnByDefault }: Channel): string {
  const translated = Object.entries(titles).map(([language, text]) => `${language} “${text}”`);
  return [name, `${isOnByDefault ? 'on' : 'off'} by default`, `“${title}”`, ...translated].join('  ');
}
