// What a site's own service worker can change about messages and clicks.
import type { PushMessage } from './push-message.ts';

/** The value of `self.deskbell` in a site's own service worker that imports `service-worker.js`. */
export interface ServiceWorkerHooks {
  /**
   * Called before a message is shown. Returned fields replace the message's own; `undefined` removes a field. If the
   * hook returns nothing, throws, or takes more than 10 seconds, the message is shown unchanged.
   */
  beforeShow?(
    message: PushMessage,
  ): Partial<PushMessage> | undefined | void | Promise<Partial<PushMessage> | undefined | void>;
  /**
   * Called when a notification was clicked. If the hook returns true, no page is opened. Browsers let a service worker
   * open a window only shortly after the click.
   *
   * @param action the name of the clicked action, empty for the notification itself
   */
  onClick?(
    message: PushMessage,
    action: string,
  ): boolean | undefined | void | Promise<boolean | undefined | void>;
}
