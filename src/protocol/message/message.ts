// What a sender can say in one message, in the words of the Notifications API if it has them.
// Made from src/protocol/message/members.ts by `npm run docs`; do not edit.

/**
 * The notification to be shown. `title` and `message` alone are the specification's message: the service worker shows
 * it under one fixed tag, it stays until the user dismisses it, and a later one replaces it without a sound.
 *
 * @see https://notifications.spec.whatwg.org/#dictdef-notificationoptions
 */
export interface Message {
  /** Title of the notification. */
  readonly title: string;
  /** Body text of the notification. */
  readonly message: string;
  /** Opened by a click on the notification. Default: a click opens the folder that the page and the service worker have in common. */
  readonly url?: string | undefined;
  /** Image beside the text. Default: none. */
  readonly icon?: string | undefined;
  /** Large image. Default: none. */
  readonly image?: string | undefined;
  /** Small monochrome image for a status bar. Default: none. */
  readonly badge?: string | undefined;
  /** Buttons, the most important first: browsers show as many as fit. Default: no buttons. */
  readonly actions?: readonly MessageAction[] | undefined;
  /** What differs in other languages. A reader gets the text in their language, or in the same language without its region; other readers get the message itself. Default: one text for all. */
  readonly texts?: Readonly<Record<string, MessageTexts>> | undefined;
  /** Whether {name} and {name|default} in title, message, url and buttons stand for the data of the person who reads it. Default: `false`: braces are text. */
  readonly placeholders?: boolean | undefined;
  /** A notification replaces an earlier one with the same tag. With null it replaces none: it gets a unique tag when it is encoded. Default: `deskbell`. */
  readonly tag?: string | null | undefined;
  /** Whether a notification that replaces another one alerts the user again. Default: `false`. */
  readonly renotify?: boolean | undefined;
  /** Whether the notification stays until the user dismisses it. Default: `true`. */
  readonly requireInteraction?: boolean | undefined;
  /** Whether the notification makes no sound and no vibration. Default: as the browser has it. */
  readonly silent?: boolean | undefined;
  /** When the event happened: milliseconds since 1970. Default: the time of arrival. */
  readonly timestamp?: number | undefined;
  /** BCP 47 language tag of the texts. Default: as the browser has it. */
  readonly lang?: string | undefined;
  /** Direction of the texts. Default: as the browser has it. */
  readonly dir?: 'auto' | 'ltr' | 'rtl' | undefined;
  /** Number on the icon of an installed web app; 0 removes it. Default: the number on the icon stays as it is. */
  readonly appBadge?: number | undefined;
  /** Any JSON value, for the page and its service worker. Default: none. */
  readonly data?: unknown;
  /** Whether browsers that can show the message without its service worker may do so: the payload has the declarative form too, which needs a title and absolute URLs. Default: `false`. */
  readonly declarative?: boolean | undefined;
  /** In the declarative form: whether a browser may let the service worker change the notification. Default: `false`. */
  readonly mutable?: boolean | undefined;
}

/** A button of a notification. */
export interface MessageAction {
  /** Its text. */
  readonly title: string;
  /** Name that the service worker receives, unique in the message. Default: its index, starting with 0. */
  readonly action?: string | undefined;
  /** Opened by a click on it. Default: what the message opens. */
  readonly url?: string | undefined;
  /** Image beside its text. */
  readonly icon?: string | undefined;
}

/** What a message has of its own in one language. What a button leaves out, it has from the message's button in its place. */
export interface MessageTexts {
  /** Title of the notification. Default: as the message has it. */
  readonly title?: string | undefined;
  /** Body text of the notification. Default: as the message has it. */
  readonly message?: string | undefined;
  /** Opened by a click on the notification. Default: as the message has it. */
  readonly url?: string | undefined;
  /** Buttons, the most important first: browsers show as many as fit. Default: as the message has it. */
  readonly actions?: readonly MessageAction[] | undefined;
}
