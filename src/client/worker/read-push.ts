// Reads push events: any payload, and the browser's own reading of the declarative form.

const defaultTitle = 'New message';

/** Members that are notification options of the same name; `pictureNames` are URLs. */
export const optionNames = [
  'tag',
  'renotify',
  'requireInteraction',
  'silent',
  'timestamp',
  'lang',
  'dir',
] as const;
export const pictureNames = ['icon', 'image', 'badge'] as const;

interface Texts {
  readonly title: string;
  readonly message: string;
}

/** Browsers that show the declarative form themselves pass this instead of a payload. */
interface DeclarativePushEvent extends PushEvent {
  readonly notification?: Record<string, unknown> | null;
  readonly appBadge?: number | null;
}

export function readPush(event: DeclarativePushEvent): Texts {
  const { notification, appBadge, data } = event;
  if (!notification) return readPayload(data);
  return readMembers(fromDeclarativeForm({ notification, app_badge: appBadge }));
}

/**
 * Reads any payload and never throws: browsers revoke subscriptions whose messages show nothing. Anything but a JSON
 * object becomes the notification's text.
 */
export function readPayload(data: PushMessageData | null): Texts {
  // Chromium keeps a byte order mark.
  const text = (data?.text() ?? '').replace(/^\uFEFF/, '');
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch {
    payload = undefined;
  }
  if (!isObject(payload)) {
    return { title: defaultTitle, message: text };
  }
  const isDeclarative = payload['web_push'] === 8030 && isObject(payload['notification']);
  return readMembers(isDeclarative ? fromDeclarativeForm(payload) : payload);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Converts the Push API's declarative form to a message's members. */
function fromDeclarativeForm(form: Record<string, unknown>): Record<string, unknown> {
  const notification = form['notification'] as Record<string, unknown>;
  const { title, body: message, navigate: url, data, actions } = notification;
  const members: Record<string, unknown> = {
    title,
    message,
    id: form['id'],
    receipt: form['receipt'],
    channel: form['channel'],
    url,
    data,
    appBadge: form['app_badge'],
  };
  for (const name of [...optionNames, ...pictureNames]) members[name] = notification[name];
  if (Array.isArray(actions)) {
    members['actions'] = actions.map((action) => ({ ...action, url: action?.navigate, navigate: undefined }));
  }
  return Object.fromEntries(Object.entries(members).filter(([, value]) => (value ?? '') !== ''));
}

export function readMembers(members: Record<string, unknown>): Texts {
  const { title, message } = members;
  const [titleText, messageText] = [toText(title ?? defaultTitle), toText(message)];
  // A title may be empty, but not the whole notification.
  const isBlank = (titleText + messageText).trim() === '';
  return { ...members, title: isBlank ? defaultTitle : titleText, message: messageText };
}

/** Any JSON value as text. String() would call a member named `toString`. */
function toText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
