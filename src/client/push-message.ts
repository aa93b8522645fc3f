// A message as the page and the service worker receive it.
// Made from src/protocol/message/members.ts by `npm run docs`; do not edit.

/** Members that are options of the notification with the same name. */
export const optionNames = [
  'tag',
  'renotify',
  'requireInteraction',
  'silent',
  'timestamp',
  'lang',
  'dir',
] as const;
/** Members whose value is the URL of a picture. They are options of the notification too. */
export const pictureNames = ['icon', 'image', 'badge'] as const;

/** A push message as this browser received it: `title`, `message`, and the members that the sender set. */
export interface PushMessage {
  /** Title of the notification. */
  readonly title: string;
  /** Body text of the notification. */
  readonly message: string;
  /** URL that a click on the notification opens. Default: the folder that contains both the page and the service worker. */
  readonly url?: string;
  /** Image beside the text. Default: none. */
  readonly icon?: string;
  /** Large image. Default: none. */
  readonly image?: string;
  /** Small monochrome image for a status bar. Default: none. */
  readonly badge?: string;
  /** Buttons, the most important first. Browsers show as many as fit. Default: no buttons. */
  readonly actions?: readonly PushMessageAction[];
  /** A notification replaces an earlier notification with the same tag. With null, the notification gets a unique tag and replaces no other. Default: `deskbell`. */
  readonly tag?: string;
  /** Whether a notification that replaces another one alerts the user again. Default: `false`. */
  readonly renotify?: boolean;
  /** Whether the notification stays until the user dismisses it. Default: `true`. */
  readonly requireInteraction?: boolean;
  /** Whether the notification makes no sound and does not vibrate. Default: the browser decides. */
  readonly silent?: boolean;
  /** When the event happened: milliseconds since 1970. Default: the time of arrival. */
  readonly timestamp?: number;
  /** BCP 47 language tag of the text. Default: the browser decides. */
  readonly lang?: string;
  /** Direction of the text. Default: the browser decides. */
  readonly dir?: 'auto' | 'ltr' | 'rtl';
  /** Number on the icon of an installed web app. 0 removes the number. Default: the number does not change. */
  readonly appBadge?: number;
  /** Any JSON value, for the page and its service worker. Default: none. */
  readonly data?: unknown;
  /** Milliseconds since 1970, by this browser's clock. */
  readonly receivedAtMs: number;
  /** An id that stays the same if the message is delivered twice. Present only if the sender asked to alert again. */
  readonly id?: string;
  /** The channel that the action `turn-off-channel` turns off. */
  readonly channel?: string;
  /** Proves that the service worker's reports on the message are genuine. Present if the sender asked for receipts. */
  readonly receipt?: string | undefined;
}

/** A button of a notification. */
export interface PushMessageAction {
  /** Text of the button. */
  readonly title: string;
  /** Name of the action, which the service worker receives; unique in the message. Default: the index of the button, starting with 0. */
  readonly action: string;
  /** URL that a click on the button opens. Default: the `url` of the message. */
  readonly url?: string;
  /** Image beside the text of the button. */
  readonly icon?: string;
}
