// Errors about a member of a message. They name the member and never show its value.
import type { ErrorCode } from '../../errors/catalogue.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';

/**
 * @param member such as `texts.de.actions[0].url`
 * @param expected what to give, after "give"
 */
export const messageError = (
  member: string,
  fault: string,
  expected: string,
  cause?: unknown,
): DeskbellError =>
  memberError(
    'ERR_MESSAGE_INVALID',
    member,
    `The member ${member} of the message is ${fault}; give ${expected}.`,
    cause,
  );

/**
 * @param member as in `messageError`; `fields` points to it in an object whose member `message` is the message
 * @param detail what is wrong with it, in a sentence
 */
export function memberError(code: ErrorCode, member: string, detail: string, cause?: unknown): DeskbellError {
  const pointer = ['/message', ...member.split(/[.[\]]+/).filter(Boolean)].join('/');
  return new DeskbellError(code, detail, {
    fields: [{ pointer, code, detail }],
    ...(cause !== undefined && { cause }),
  });
}
