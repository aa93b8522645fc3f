// What page and service worker receive of a message.
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
/** The same, with the URL of a picture. */
export const pictureNames = ['icon', 'image', 'badge'] as const;

/** A push message as this browser received it: `title`, `message`, and what else the sender gave. */
export interface PushMessage {
  /** Title of the notification. */
  readonly title: string;
  /** Body text of the notification. */
  readonly message: string;
  /** Opened by a click on the notification. Default: a click opens the folder that the page and the service worker have in common. */
  readonly url?: string;
  /** Image beside the text. Default: none. */
  readonly icon?: string;
  /** Large image. Default: none. */
  readonly image?: string;
  /** Small monochrome image for a status bar. Default: none. */
  readonly badge?: string;
  /** Buttons, the most important first: browsers show as many as fit. Default: no buttons. */
  readonly actions?: readonly PushMessageAction[];
  /** A notification replaces an earlier one with the same tag. With null it replaces none: it gets a unique tag when it is encoded. Default: `deskbell`. */
  readonly tag?: string;
  /** Whether a notification that replaces another one alerts the user again. Default: `false`. */
  readonly renotify?: boolean;
  /** Whether the notification stays until the user dismisses it. Default: `true`. */
  readonly requireInteraction?: boolean;
  /** Whether the notification makes no sound and no vibration. Default: as the browser has it. */
  readonly silent?: boolean;
  /** When the event happened: milliseconds since 1970. Default: the time of arrival. */
  readonly timestamp?: number;
  /** BCP 47 language tag of the texts. Default: as the browser has it. */
  readonly lang?: string;
  /** Direction of the texts. Default: as the browser has it. */
  readonly dir?: 'auto' | 'ltr' | 'rtl';
  /** Number on the icon of an installed web app; 0 removes it. Default: the number on the icon stays as it is. */
  readonly appBadge?: number;
  /** Any JSON value, for the page and its service worker. Default: none. */
  readonly data?: unknown;
  /** Milliseconds since 1970, by this browser's clock. */
  readonly receivedAtMs: number;
  /** Identifies a message that is delivered twice; present if the sender asked to alert again. */
  readonly id?: string;
  /** The channel that the action `turn-off-channel` turns off. */
  readonly channel?: string;
  /** Proves the service worker's reports on the message; present if its sender asked for receipts. */
  readonly receipt?: string | undefined;
}

/** A button of a notification. */
export interface PushMessageAction {
  /** Its text. */
  readonly title: string;
  /** Name that the service worker receives, unique in the message. Default: its index, starting with 0. */
  readonly action: string;
  /** Opened by a click on it. Default: what the message opens. */
  readonly url?: string;
  /** Image beside its text. */
  readonly icon?: string;
}
