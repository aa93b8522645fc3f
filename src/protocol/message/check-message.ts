// Checks a message before it is encoded. Browsers drop a member that they do not like, or the whole notification,
// without telling the sender. Errors name the member and never show its value.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { typeOf } from '../check-arguments.ts';
import type { Message, MessageAction } from './message.ts';

interface Rule {
  /** As `typeOf` names it; `undefined` where any will do. */
  readonly type: string | undefined;
  /** False, or an error, for a value that is not usable. */
  readonly isMet: (value: never) => boolean;
  /** What to give instead, after "give". */
  readonly expected: string;
}

const text: Rule = { type: 'string', isMet: () => true, expected: 'a string' };
const filledText: Rule = {
  type: 'string',
  isMet: (value: string) => value !== '',
  expected: 'a string that is not empty',
};
const flag: Rule = { type: 'boolean', isMet: () => true, expected: 'true or false' };
const link: Rule = {
  type: 'string',
  isMet: (value: string) => hasScheme(value, ['http:', 'https:']),
  expected: "an http(s) URL, absolute or relative to the service worker's scope",
};
const picture: Rule = {
  type: 'string',
  isMet: (value: string) => hasScheme(value, ['http:', 'https:', 'data:']),
  expected: "an http(s) or data URL, absolute or relative to the service worker's scope",
};

/** The greatest time of a `Date`. */
const maxTimestampMs = 8.64e15;

const messageRules: Readonly<Record<keyof Message, Rule>> = {
  title: text,
  message: text,
  url: link,
  icon: picture,
  image: picture,
  badge: picture,
  actions: { type: 'array', isMet: () => true, expected: 'an array of actions' },
  tag: { ...filledText, expected: 'a string that is not empty, or null for a tag of its own' },
  renotify: flag,
  requireInteraction: flag,
  silent: flag,
  timestamp: {
    type: 'number',
    isMet: (value: number) => Number.isInteger(value) && value >= 0 && value <= maxTimestampMs,
    expected: 'milliseconds since 1970, a whole number',
  },
  lang: {
    type: 'string',
    isMet: (value: string) => Intl.getCanonicalLocales(value).length === 1,
    expected: 'a BCP 47 language tag, such as de or pt-BR',
  },
  dir: {
    type: 'string',
    isMet: (value: string) => ['auto', 'ltr', 'rtl'].includes(value),
    expected: "'auto', 'ltr' or 'rtl'",
  },
  appBadge: {
    type: 'number',
    isMet: (value: number) => Number.isSafeInteger(value) && value >= 0,
    expected: 'a whole number, 0 to remove the badge',
  },
  data: {
    type: undefined,
    isMet: (value: unknown) => JSON.stringify(value) !== undefined,
    expected: 'a value that JSON can hold',
  },
  declarative: flag,
  mutable: flag,
};

const actionRules: Readonly<Record<keyof MessageAction, Rule>> = {
  title: filledText,
  action: filledText,
  url: link,
  icon: picture,
};

/** @throws {DeskbellError} ERR_MESSAGE_INVALID, which names the member, what is wrong with it, and what to give instead */
export function checkMessage(message: Message): void {
  checkMembers(message, messageRules, { required: ['title', 'message'], path: '', owner: 'message' });
  const { actions = [] } = message;
  const names = new Set<string>();
  for (const [index, action] of actions.entries()) {
    const path = `actions[${index}]`;
    checkMembers(action, actionRules, { required: ['title'], path: `${path}.`, owner: 'action' });
    const name = actionName(action, index);
    if (names.has(name))
      fail(`${path}.action`, 'the same as that of an earlier action', 'each action a name of its own');
    names.add(name);
  }
}

/** The name of an action that has been given none is its place. */
export function actionName({ action }: MessageAction, index: number): string {
  return action ?? String(index);
}

interface Place {
  readonly required: readonly string[];
  /** Before the names of the members, such as `actions[0].`. */
  readonly path: string;
  readonly owner: 'message' | 'action';
}

function checkMembers(owner: object, rules: Readonly<Record<string, Rule>>, place: Place): void {
  const { required, path } = place;
  if (typeOf(owner) !== 'object') {
    throw new DeskbellError(
      'ERR_MESSAGE_INVALID',
      place.owner === 'message'
        ? `The message is of type ${typeOf(owner)}; give an object with title and message.`
        : `The member ${path.slice(0, -1)} of the message is of type ${typeOf(owner)}; give an object with a title.`,
    );
  }
  const members = owner as Readonly<Record<string, unknown>>;
  for (const member of new Set([...required, ...Object.keys(members)])) {
    const value = members[member];
    if (value === undefined && !required.includes(member)) continue;
    if (!Object.hasOwn(rules, member)) {
      throw new DeskbellError(
        'ERR_MESSAGE_INVALID',
        `The message has a member ${path}${member}, which there is none of; put values of your own into data.`,
      );
    }
    // The tag alone may be null: it asks for one of its own.
    if (value === null && member === 'tag') continue;
    const { type, isMet, expected } = rules[member]!;
    if (type !== undefined && typeOf(value) !== type)
      fail(path + member, `of type ${typeOf(value)}`, expected);
    let error: unknown;
    try {
      if (isMet(value as never)) continue;
    } catch (cause) {
      error = cause;
    }
    fail(path + member, 'not usable', expected, error);
  }
}

function fail(member: string, fault: string, expected: string, cause?: unknown): never {
  throw new DeskbellError(
    'ERR_MESSAGE_INVALID',
    `The member ${member} of the message is ${fault}; give ${expected}.`,
    cause === undefined ? {} : { cause },
  );
}

/** The scope is not known here; a URL that is relative to it has its scheme. */
function hasScheme(value: string, schemes: readonly string[]): boolean {
  const url = URL.parse(value, 'https://scope.invalid/');
  return url !== null && schemes.includes(url.protocol);
}
