// What a sender can say in one message, in the words of the Notifications API where that has them.

/**
 * The notification to be shown. `title` and `message` alone are the specification's message: the service worker shows
 * it under one fixed tag, it stays until the user dismisses it, and a later one replaces it without a sound.
 *
 * @see https://notifications.spec.whatwg.org/#dictdef-notificationoptions
 */
export interface Message {
  readonly title: string;
  /** Body text of the notification. */
  readonly message: string;
  /** Opened by a click: http(s), absolute or relative to the service worker's scope. Default: the page's folder. */
  readonly url?: string | undefined;
  /** Image beside the text: http(s) or data URL, absolute or relative to the scope. */
  readonly icon?: string | undefined;
  /** Large image; a URL as `icon` is. */
  readonly image?: string | undefined;
  /** Small monochrome image for a status bar; a URL as `icon` is. */
  readonly badge?: string | undefined;
  /** Buttons, the most important one first: browsers show as many as they have room for. */
  readonly actions?: readonly MessageAction[] | undefined;
  /**
   * A notification replaces an earlier one with the same tag. Default: `deskbell`. With `null` it replaces none: the
   * message gets a tag of its own when it is encoded.
   */
  readonly tag?: string | null | undefined;
  /** Whether a notification that replaces another one alerts the user again. Default: false. */
  readonly renotify?: boolean | undefined;
  /** Whether the notification stays until the user dismisses it. Default: true. */
  readonly requireInteraction?: boolean | undefined;
  /** Whether neither sound nor vibration comes with it. */
  readonly silent?: boolean | undefined;
  /** When the event happened: milliseconds since 1970. */
  readonly timestamp?: number | undefined;
  /** BCP 47 language tag of the texts, such as `de` or `pt-BR`. */
  readonly lang?: string | undefined;
  /** Direction of the texts. */
  readonly dir?: 'auto' | 'ltr' | 'rtl' | undefined;
  /** Number on the icon of an installed web app; 0 removes it. */
  readonly appBadge?: number | undefined;
  /** Any JSON value, for the page and its service worker. */
  readonly data?: unknown;
  /**
   * Whether the payload has the Push API's declarative form too, which some browsers show without any service worker.
   * Needs a `title` and a `url`; all URLs are absolute then. Default: false.
   */
  readonly declarative?: boolean | undefined;
  /** In the declarative form: whether a browser may let the service worker change the notification. */
  readonly mutable?: boolean | undefined;
}

/** A button of a notification. */
export interface MessageAction {
  readonly title: string;
  /** Name by which the service worker is told of it, unique in the message. Default: its place among the actions, from 0. */
  readonly action?: string | undefined;
  /** Opened by a click on it. Default: the message's `url`. */
  readonly url?: string | undefined;
  /** A URL as the message's `icon` is. */
  readonly icon?: string | undefined;
}
