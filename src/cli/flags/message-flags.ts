// The flags of `deskbell send` that make up the message: its texts and the most common members, or a whole message as JSON.
import { text } from 'node:stream/consumers';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Message, MessageAction } from '../../protocol/message/message.ts';
import type { Context } from '../context.ts';
import { readInput } from '../input/read-input.ts';

export interface MessageFlags {
  readonly title?: string;
  readonly message?: string;
  readonly url?: string;
  readonly icon?: string;
  readonly image?: string;
  readonly badge?: string;
  readonly action?: readonly MessageAction[];
  readonly declarative?: true;
  /** JSON; `-` is standard input. */
  readonly jsonMessage?: string;
}

const members = ['title', 'message', 'url', 'icon', 'image', 'badge', 'action', 'declarative'] as const;

export function addMessageFlags(command: Command): Command {
  return command
    .option('--title <text>', 'Title of the notification.')
    .option('--message <text>', 'Text of the notification.')
    .option('--url <url>', 'Opened by a click on the notification.')
    .option('--icon <url>', 'Image beside the text.')
    .option('--image <url>', 'Large image.')
    .option('--badge <url>', 'Small monochrome image for a status bar.')
    .addOption(
      new Option(
        '--action <title=url>',
        "Adds a button that opens a URL, such as 'Open=/orders/7'. May be given several times.",
      ).argParser((value: string, previous: readonly MessageAction[] = []) => [
        ...previous,
        parseAction(value),
      ]),
    )
    .option('--declarative', 'Lets browsers that can show the message without its service worker do so.')
    .addOption(
      new Option(
        '--json-message <file>',
        'Reads the whole message from a JSON file, with any member of docs/notifications.md; "-" is standard input.',
      ).conflicts([...members]),
    );
}

/**
 * Reads the message that the flags name. The sender checks its members.
 *
 * @throws {DeskbellError} ERR_USAGE, ERR_FILE, ERR_MESSAGE_INVALID for a file that is not JSON
 */
export async function readMessage(flags: MessageFlags, context: Context): Promise<Message> {
  const { title, message, action: actions, jsonMessage, url, icon, image, badge, declarative } = flags;
  if (jsonMessage !== undefined) return readJsonMessage(jsonMessage, context);
  if (title === undefined || message === undefined) {
    throw new DeskbellError('ERR_USAGE', 'Give the message: --title and --message, or --json-message');
  }
  return { title, message, url, icon, image, badge, actions, declarative };
}

async function readJsonMessage(file: string, context: Context): Promise<Message> {
  const json = await text(readInput(file, context));
  try {
    return JSON.parse(json) as Message;
  } catch {
    // The parser's own error shows a part of the message.
    const name = file === '-' ? 'Standard input' : file;
    throw new DeskbellError('ERR_MESSAGE_INVALID', `${name} does not hold a message as JSON`);
  }
}

/** `Open=/orders/7`, or a title alone. */
function parseAction(value: string): MessageAction {
  const end = value.indexOf('=');
  const title = end === -1 ? value : value.slice(0, end);
  if (title === '') throw new InvalidArgumentError('It must be a title and a URL, such as Open=/orders/7.');
  return { title, url: end === -1 ? undefined : value.slice(end + 1) };
}
