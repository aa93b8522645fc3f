// The functions that a site's own service worker may set to take part in what Deskbell's does.
import type { PushMessage } from './push-message.ts';

/** The value of `self.deskbell` in a service worker that imports `service-worker.js`. */
export interface ServiceWorkerHooks {
  /**
   * Called before a message is shown. The members that it returns replace those of the message, `undefined` removes one;
   * without a result the message is shown as it came. So it is where this throws or takes more than 10 seconds.
   */
  beforeShow?(
    message: PushMessage,
  ): Partial<PushMessage> | undefined | void | Promise<Partial<PushMessage> | undefined | void>;
  /**
   * Called when a notification was clicked. Unless it returns true, the page is opened as without it. Browsers open a
   * window only shortly after the click.
   *
   * @param action the name of the action that was clicked, empty for the notification itself
   */
  onClick?(
    message: PushMessage,
    action: string,
  ): boolean | undefined | void | Promise<boolean | undefined | void>;
}
