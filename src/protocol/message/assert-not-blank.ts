// Refuses a message that shows no text. The library sends any texts; where people or scripts give them, an empty one is a mistake,
// such as a variable of the shell that is not set.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { checkMessage } from './check-message.ts';
import { memberError } from './message-error.ts';
import type { Message } from './message.ts';

/** Whether it shows no text. */
export const isBlank = ({ title, message }: Pick<Message, 'title' | 'message'>): boolean =>
  `${title}${message}`.trim() === '';

/**
 * @throws {DeskbellError} ERR_MESSAGE_INVALID, which names title and message where both are blank, in one of the languages too; and what
 *   `checkMessage` throws
 */
export function assertNotBlank(message: Message): void {
  for (const { message: text, nameOf } of checkMessage(message)) {
    if (!isBlank(text)) continue;
    const members = ['title', 'message'].map(nameOf);
    const detail = `The members ${members.join(' and ')} of the message are both blank; give at least one of them a text.`;
    throw new DeskbellError('ERR_MESSAGE_INVALID', detail, {
      fields: members.flatMap((member) => memberError('ERR_MESSAGE_INVALID', member, detail).fields),
    });
  }
}
