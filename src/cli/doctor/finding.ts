// What `deskbell doctor` found out about one thing.
import { catalogue } from '../../errors/catalogue.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { describeError } from '../output/failure.ts';

export interface Finding {
  /** What was checked: `keys`, `fcm.googleapis.com`. */
  readonly subject: string;
  /** `warning`: it works, but may fail later. `fault`: something does not work. */
  readonly status: 'ok' | 'warning' | 'fault';
  readonly detail: string;
  /** What to do; absent if `ok`. */
  readonly cure?: string | undefined;
}

/** The result of one check. */
export type Outcome = Omit<Finding, 'subject'>;

export const ok = (detail: string): Outcome => ({ status: 'ok', detail });
export const warning = (detail: string, cure: string): Outcome => ({ status: 'warning', detail, cure });

/** The finding of `look`; what it throws becomes a fault. */
export async function findingOf(subject: string, look: () => Promise<Outcome> | Outcome): Promise<Finding> {
  try {
    return { subject, ...(await look()) };
  } catch (error) {
    const { remedy } = error instanceof DeskbellError ? error : catalogue.ERR_COMMAND;
    return { subject, status: 'fault', detail: describeError(error), cure: remedy };
  }
}
