// What the API, the console and the metrics are made of. Types only.
import type { ReadWarnings } from '../delivery/installation-warnings.ts';
import type { Sender } from '../delivery/sender.ts';
import type { Log } from '../http/log.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { Store } from '../store/store.ts';
import type { ProgressFeeds } from './progress-feeds.ts';

export interface OperatorContext {
  readonly store: Store;
  /** Sends messages and creates broadcasts. */
  readonly sender: Sender;
  readonly log: Log;
  /** How far broadcasts are, read once for all who follow. */
  readonly progress: ProgressFeeds;
  /** Browsers reach the listener by https: its cookies are `Secure`. */
  readonly isSecure: boolean;
  readonly metrics: Metrics;
  /** What is to be known of the installation as a whole. */
  readonly readWarnings: ReadWarnings;
  /** Of a message that is sent as plain text without one. */
  readonly defaultTitle: string;
  /** Names a person in the audit: a hash under a key of this installation. */
  hashPerson(user: string): string;
}
