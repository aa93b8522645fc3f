// A browser that tests and scripts drive.
import type { Browser } from 'puppeteer-core';
import type { PushServiceAccess } from './backend.ts';

/** A browser with a push service of its own. */
export interface TestBrowser extends AsyncDisposable {
  readonly browser: Browser;
  readonly access: PushServiceAccess;
  /** Those of every site and port. */
  clearCookies(): Promise<void>;
  stopPushService(): Promise<void>;
  startPushServiceAgain(): Promise<void>;
  /** Makes the browser drop its subscriptions and tell the service workers so (`pushsubscriptionchange`). */
  dropSubscriptions(siteUrl: string): Promise<void>;
}
