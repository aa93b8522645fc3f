// The members of a message. Their names are those of the Notifications API, if it has such a member.
// Made from src/protocol/message/members.ts by `npm run docs`; do not edit.

/**
 * The notification to be shown. A message needs only `title` and `message`. By default, all notifications have the
 * same tag, so each notification replaces the previous one without a sound. A notification stays until the user
 * dismisses it.
 *
 * @see https://notifications.spec.whatwg.org/#dictdef-notificationoptions
 */
export interface Message {
  /** Title of the notification. */
  readonly title: string;
  /** Body text of the notification. */
  readonly message: string;
  /** URL that a click on the notification opens. Default: the folder that contains both the page and the service worker. */
  readonly url?: string | undefined;
  /** Image beside the text. Default: none. */
  readonly icon?: string | undefined;
  /** Large image. Default: none. */
  readonly image?: string | undefined;
  /** Small monochrome image for a status bar. Default: none. */
  readonly badge?: string | undefined;
  /** Buttons, the most important first. Browsers show as many as fit. Default: no buttons. */
  readonly actions?: readonly MessageAction[] | undefined;
  /** Translations. Readers get the translation into their language, such as de-AT, or else into the language without its region, such as de. Other readers get the message itself. Default: no translations. */
  readonly texts?: Readonly<Record<string, MessageTexts>> | undefined;
  /** Whether {name} and {name|default} in title, message, url and buttons are replaced with the reader’s data. Default: `false`: braces are plain text. */
  readonly placeholders?: boolean | undefined;
  /** A notification replaces an earlier notification with the same tag. With null, the notification gets a unique tag and replaces no other. Default: `deskbell`. */
  readonly tag?: string | null | undefined;
  /** Whether a notification that replaces another one alerts the user again. Default: `false`. */
  readonly renotify?: boolean | undefined;
  /** Whether the notification stays until the user dismisses it. Default: `true`. */
  readonly requireInteraction?: boolean | undefined;
  /** Whether the notification makes no sound and does not vibrate. Default: the browser decides. */
  readonly silent?: boolean | undefined;
  /** When the event happened: milliseconds since 1970. Default: the time of arrival. */
  readonly timestamp?: number | undefined;
  /** BCP 47 language tag of the text. Default: the browser decides. */
  readonly lang?: string | undefined;
  /** Direction of the text. Default: the browser decides. */
  readonly dir?: 'auto' | 'ltr' | 'rtl' | undefined;
  /** Number on the icon of an installed web app. 0 removes the number. Default: the number does not change. */
  readonly appBadge?: number | undefined;
  /** Any JSON value, for the page and its service worker. Default: none. */
  readonly data?: unknown;
  /** Whether browsers may show the message without the service worker, if they can. The payload then also contains the declarative form, which needs a title and absolute URLs. Default: `false`. */
  readonly declarative?: boolean | undefined;
  /** Whether the service worker may change a notification that the browser shows from the declarative form. Default: `false`. */
  readonly mutable?: boolean | undefined;
}

/** A button of a notification. */
export interface MessageAction {
  /** Text of the button. */
  readonly title: string;
  /** Name of the action, which the service worker receives; unique in the message. Default: the index of the button, starting with 0. */
  readonly action?: string | undefined;
  /** URL that a click on the button opens. Default: the `url` of the message. */
  readonly url?: string | undefined;
  /** Image beside the text of the button. */
  readonly icon?: string | undefined;
}

/**
 * A translation of a message into one language. If a translated button lacks a field, Deskbell uses the field of the
 * untranslated button at the same index.
 */
export interface MessageTexts {
  /** Title of the notification. Default: the value in the message. */
  readonly title?: string | undefined;
  /** Body text of the notification. Default: the value in the message. */
  readonly message?: string | undefined;
  /** URL that a click on the notification opens. Default: the value in the message. */
  readonly url?: string | undefined;
  /** Buttons, the most important first. Browsers show as many as fit. Default: the value in the message. */
  readonly actions?: readonly MessageAction[] | undefined;
}
