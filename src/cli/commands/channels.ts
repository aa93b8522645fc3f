// `deskbell channels`: what readers switch on and off.
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Channel } from '../../audience/channels.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { findChannel, listChannels, putChannel, removeChannel } from '../../operations/channels.ts';
import { readLanguage } from '../../protocol/language.ts';
import type { Store } from '../../store/store.ts';
import { createCommand } from '../command.ts';
import { createChangeCommand, createNamedListCommand } from '../data/operation-command.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';

type Titles = Channel['titles'];

interface SetFlags extends JsonFlag {
  readonly title?: string;
  readonly titleIn?: Titles;
  readonly default?: 'on' | 'off';
}

export const channelsCommand = (context: Context): Command =>
  createCommand({
    name: 'channels',
    description: 'Lists, makes, changes and removes channels: what readers switch on and off.',
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
    .addCommand(setCommand(context))
    .addCommand(
      createChangeCommand(context, removeChannel, {
        name: 'remove',
        description:
          'Removes a channel. Choices that readers have made for it hold again if a channel of its name is made anew.',
        examples: ['deskbell channels remove news'],
        argument: ['<name>', 'Name of the channel.'],
        input: (name: string) => ({ name }),
        toJson: (_removed, name) => ({ name }),
        toText: (_removed, name) => `Removed the channel ${name}.`,
      }),
    );

const setCommand = (context: Context): Command =>
  createChangeCommand(context, putChannel, {
    name: 'set',
    description:
      'Makes a channel, or changes one. What is not given stays as it is; choices of readers stay.',
    examples: [
      'deskbell channels set news --title News --title-in de=Nachrichten',
      'deskbell channels set offers --title Offers --default off',
    ],
    argument: ['<name>', 'Name of the channel: letters, digits and ". _ : -".'],
    input: complete,
    toText: formatChannel,
  })
    .option(
      '--title <text>',
      'Title for readers, in languages without one of their own. Needed for a new channel.',
    )
    .option(
      '--title-in <language=text>',
      'Title in a language; empty removes it. May be given several times.',
      addTitle,
    )
    .addOption(
      new Option('--default <state>', 'For readers who have chosen nothing. A new channel is on.').choices([
        'on',
        'off',
      ]),
    );

/** The operation is given the whole channel: what no flag says is taken from the one that there is. */
async function complete(name: string, flags: SetFlags, { channels }: Store): Promise<Channel> {
  const known = await findChannel(channels, name);
  const title = flags.title ?? known?.title;
  if (title === undefined)
    throw new DeskbellError('ERR_USAGE', `There is no channel "${name}" yet; give its --title`);
  const titles = Object.entries({ ...known?.titles, ...flags.titleIn });
  return {
    name,
    title,
    titles: Object.fromEntries(titles.filter(([, text]) => text !== '')),
    isOnByDefault: flags.default === undefined ? (known?.isOnByDefault ?? true) : flags.default === 'on',
  };
}

/** In the one spelling of the language, so that it replaces the title that is there. */
function addTitle(given: string, former: Titles = {}): Titles {
  const [, language = '', title = ''] = /^([^=]+)=(.*)$/.exec(given) ?? [];
  if (language === '')
    throw new InvalidArgumentError('It must be a language and a title, such as de=Nachrichten.');
  return { ...former, [readLanguage(language) ?? language]: title };
}

function formatChannel({ name, title, titles, isOnByDefault }: Channel): string {
  const translated = Object.entries(titles).map(([language, text]) => `${language} “${text}”`);
  return [name, `${isOnByDefault ? 'on' : 'off'} by default`, `“${title}”`, ...translated].join('  ');
}
