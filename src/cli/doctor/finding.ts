// What `deskbell doctor` has found out about one thing.
import { catalogue } from '../../errors/catalogue.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { describeError } from '../output/failure.ts';

export interface Finding {
  /** What was looked at: `keys`, `fcm.googleapis.com`. */
  readonly subject: string;
  /** `warning`: it works, and may not always. `fault`: something does not work. */
  readonly status: 'ok' | 'warning' | 'fault';
  readonly detail: string;
  /** What to do, unless `ok`. */
  readonly cure?: string | undefined;
}

/** The finding of `look`, or the fault that it throws. */
export async function findingOf(subject: string, look: () => Promise<Finding> | Finding): Promise<Finding> {
  try {
    return await look();
  } catch (error) {
    return toFault(subject, error);
  }
}

function toFault(subject: string, error: unknown): Finding {
  const cure = error instanceof DeskbellError ? catalogue[error.code].remedy : catalogue.ERR_COMMAND.remedy;
  return { subject, status: 'fault', detail: describeError(error), cure };
}
