// The error for a member of a message. It names the member and never shows its value.
import { DeskbellError } from '../../errors/deskbell-error.ts';

/** @param expected what to give, after "give" */
export const messageError = (
  member: string,
  fault: string,
  expected: string,
  cause?: unknown,
): DeskbellError =>
  new DeskbellError(
    'ERR_MESSAGE_INVALID',
    `The member ${member} of the message is ${fault}; give ${expected}.`,
    cause === undefined ? {} : { cause },
  );
