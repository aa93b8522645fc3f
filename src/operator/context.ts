// What the API, the console and the metrics are made of. Types only.
import type { Sender } from '../delivery/sender.ts';
import type { Log } from '../http/log.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { OperationContext } from '../operations/operation.ts';
import type { ProgressFeeds } from './broadcast-events.ts';

export interface OperatorContext extends OperationContext {
  /** Sends messages and creates broadcasts. */
  readonly sender: Sender;
  readonly log: Log;
  /** How far broadcasts are, read once for all who follow. */
  readonly progress: ProgressFeeds;
  /** Browsers reach the listener by https: its cookies are `Secure`. */
  readonly isSecure: boolean;
  readonly metrics: Metrics;
  /** Of a message that is sent as plain text without one. */
  readonly defaultTitle: string;
}
