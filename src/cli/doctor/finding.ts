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

/** What a look at one thing has shown. */
export type Outcome = Omit<Finding, 'subject'>;

export const ok = (detail: string): Outcome => ({ status: 'ok', detail });
export const warning = (detail: string, cure: string): Outcome => ({ status: 'warning', detail, cure });

/** The finding of `look`, or the fault that it throws. */
export async function findingOf(subject: string, look: () => Promise<Outcome> | Outcome): Promise<Finding> {
  try {
    return { subject, ...(await look()) };
  } catch (error) {
    const { remedy } = error instanceof DeskbellError ? error : catalogue.ERR_COMMAND;
    return { subject, status: 'fault', detail: describeError(error), cure: remedy };
  }
}
