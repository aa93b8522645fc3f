// Types that the API, the console and metrics share.
import type { Progress } from '../delivery/broadcast/progress.ts';
import type { Sender } from '../delivery/sender.ts';
import type { Log } from '../http/log.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { OperationContext } from '../operations/operation.ts';

export interface OperatorContext extends OperationContext {
  readonly sender: Sender;
  readonly log: Log;
  /** Reads the progress of a broadcast once for all followers. Undefined once the listener begins to close. */
  readProgress(id: number): Promise<Progress | undefined>;
  /** Browsers use https, so cookies are `Secure`. */
  readonly isSecure: boolean;
  readonly metrics: Metrics;
  /** The title of a plain-text message if the request gives no title. */
  readonly defaultTitle: string;
  /** The URL at which bells are reached. Default: `/ring` at the host of the request. */
  readonly bellsUrl?: string | undefined;
}
