// Converts the composer's fields to a message, an audience and options, which the sender then checks.
import { randomUUID } from 'node:crypto';
import { type Audience, checkAudience } from '../../delivery/broadcast/audience.ts';
import type { BroadcastOptions } from '../../delivery/broadcast/create-broadcast.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { checkMessage, isBlank, localizeMessage } from '../../protocol/message/check-message.ts';
import { memberDescriptions } from '../../protocol/message/members.ts';
import type { Message, MessageAction } from '../../protocol/message/message.ts';
import type { ValueSchema } from '../../protocol/message/value-schema.ts';
import { deliveryOptions, type OptionDescription } from '../../store/delivery-options.ts';
import type { OutcomeGroup } from '../../store/broadcasts.ts';
import { hasReaderTimes } from '../../store/reader-times.ts';
import { filledActions } from './form-fields.ts';
import { toTime, zoneName } from './local-time-input.ts';
import { fieldFault, optionalField, textField, textFields, type Fields } from './forms.ts';
import { describeLanguage, toTexts } from './languages.ts';
import { lookUp } from '../../errors/check-options.ts';

/** All fields, except those that concern only the current request. */
export function readFields(body: unknown): Fields {
  const { csrf: _csrf, step: _step, ...fields } = textFields(body);
  return fields;
}

/** Reads a new form's fields from the URL. Because of its idempotency key, a form creates only one broadcast. */
export const initialFields = (query: unknown): Fields => ({
  ...readFields(query),
  testTag: optionalField(query, 'testTag') ?? 'test',
  idempotencyKey: randomUUID(),
});

export function toMessage(fields: Fields): Message {
  const members = Object.entries(memberDescriptions)
    .filter(([name]) => name !== 'texts')
    .map(([name, { schema }]) => [name, toValue(fields, name, schema)]);
  return {
    ...(Object.fromEntries(members) as Partial<Message>),
    title: textField(fields, 'title'),
    message: textField(fields, 'message'),
    actions: toActions(fields),
    texts: toTexts(fields),
    tag: toTag(fields),
  };
}

/**
 * Returns the message as it will be sent.
 *
 * @throws {DeskbellError} ERR_FIELD_VALUE if there is a language in which title and text are both blank
 */
export function toSentMessage(fields: Fields): Message {
  const message = toMessage(fields);
  for (const { language, message: text, nameOf } of localizeMessage(message)) {
    if (!isBlank(text)) continue;
    const place = language === undefined ? '' : ` in ${describeLanguage(language)}`;
    const faults = ['title', 'message'].map((member) =>
      fieldFault(nameOf(member), `Title and text${place} are both blank: give one of them.`),
    );
    throw new DeskbellError('ERR_FIELD_VALUE', faults[0]!.message, {
      fields: faults.flatMap((fault) => fault.fields),
    });
  }
  return message;
}

/** Converts a field to the type of its member or option; undefined if the field is empty. */
function toValue(fields: Fields, name: string, { type, format, items }: ValueSchema): unknown {
  if (type === 'boolean') return toFlag(fields, name);
  if (format === 'timestamp') return toTime(fields, name)?.getTime();
  if (type === 'integer') return toNumber(fields, name);
  if (type === undefined) return toJson(fields, name);
  if (type !== 'array') return optionalField(fields, name);
  const values = toList(fields, name);
  if (values.length === 0) return undefined;
  return values.map((value) => toValue({ [name]: value }, name, items ?? {}));
}

function toTag(fields: Fields): string | null | undefined {
  if (fields['replace'] === 'none') return null;
  return fields['replace'] === 'tag' ? textField(fields, 'tag') : undefined;
}

function toActions(fields: Fields): readonly MessageAction[] | undefined {
  const actions = filledActions(fields).map((index) => ({
    title: textField(fields, `actions.${index}.title`),
    url: optionalField(fields, `actions.${index}.url`),
    icon: optionalField(fields, `actions.${index}.icon`),
    action: optionalField(fields, `actions.${index}.action`),
  }));
  return actions.length === 0 ? undefined : actions;
}

export function toOptions(fields: Fields): BroadcastOptions {
  const descriptions = Object.entries<OptionDescription>(deliveryOptions);
  const options: BroadcastOptions = Object.fromEntries(
    descriptions.map(([name, { schema }]) => [name, toValue(fields, name, schema)]),
  );
  return {
    ...options,
    // for times that depend on the reader, the default time zone is the operator's
    timeZone: options.timeZone ?? (hasReaderTimes(options) ? optionalField(fields, zoneName) : undefined),
    startAt: toTime(fields, 'startAt'),
    idempotencyKey: optionalField(fields, 'idempotencyKey'),
  };
}

/** Members of a message that are edited in a single field. */
const singleMembers = Object.entries(memberDescriptions).filter(
  ([name]) => !['tag', 'actions', 'texts'].includes(name),
);

/** Finds errors in members and options, by field name. Each field is checked, so that all errors are shown at once. */
export function findSingleFaults(fields: Fields): Fields {
  const faults: Record<string, string> = {};
  const attempt = (name: string, schema: ValueSchema, check: (value: unknown) => void): void => {
    try {
      const value = toValue(fields, name, schema);
      if (value !== undefined) check(value);
    } catch (error) {
      if (!(error instanceof DeskbellError)) throw error;
      faults[name] = error.message;
    }
  };
  for (const [name, { schema }] of singleMembers)
    attempt(name, schema, (value) => void checkMessage({ title: '', message: '', [name]: value }));
  for (const [name, { schema, check, field }] of Object.entries<OptionDescription>(deliveryOptions))
    attempt(name, schema, (value) => check(value, field.label));
  return faults;
}

/** Options of the message to the test group. All members of the group get the message immediately. */
export function toTestOptions(fields: Fields): BroadcastOptions {
  const {
    localTime: _at,
    ifTimePassed: _if,
    quietHours: _quiet,
    timeZone: _zone,
    skipInactive: _skip,
    ...options
  } = toOptions(fields);
  return { ...options, startAt: undefined };
}

/** An audience that the form can express. */
export type ComposedAudience = Exclude<Audience, { readonly subscriptions: unknown }>;

/** @throws {DeskbellError} ERR_FIELD_VALUE if the form names no person */
export function toAudience(fields: Fields): ComposedAudience {
  switch (fields['audience']) {
    case 'user': {
      const user = textField(fields, 'user');
      if (user === '') throw fieldFault('user', 'Give the user whose devices get the message.');
      return { user };
    }
    case 'tags': {
      const tags = toTags(fields);
      if (Object.values(tags).every(({ length }) => length === 0))
        throw fieldFault('tagsAll', 'Give a tag in one of the three fields at least.');
      return { tags };
    }
    case 'ids': {
      const ids = toList(fields, 'ids').map(Number);
      if (ids.length === 0) throw fieldFault('ids', 'Give the id of a subscription at least.');
      if (!ids.every((id) => Number.isSafeInteger(id) && id > 0))
        throw fieldFault('ids', 'Ids of subscriptions are whole numbers from 1, separated by commas.');
      return { ids };
    }
    case 'outcome': {
      const audience = { broadcast: Number(fields['broadcast']), outcome: fields['outcome'] as OutcomeGroup };
      checkAudience(audience);
      return audience;
    }
    default:
      return 'all';
  }
}

/** @throws {DeskbellError} ERR_FIELD_VALUE if it is not exactly one tag */
export function toTestGroup(fields: Fields): { readonly tags: { readonly all: readonly string[] } } {
  const tags = toList(fields, 'testTag');
  if (tags.length !== 1) throw fieldFault('testTag', 'Give the one tag that the test group has.');
  return { tags: { all: tags } };
}

export const toTags = (fields: Fields) => ({
  all: toList(fields, 'tagsAll'),
  any: toList(fields, 'tagsAny'),
  none: toList(fields, 'tagsNone'),
});

const toList = (fields: Fields, name: string): readonly string[] =>
  textField(fields, name)
    .split(/[\s,]+/)
    .filter((part) => part !== '');

function toFlag(fields: Fields, name: string): boolean | undefined {
  const text = textField(fields, name);
  return text === '' ? undefined : text === 'yes';
}

const labelOf = (name: string): string =>
  lookUp({ ...memberDescriptions, ...deliveryOptions }, name)!.field.label;

function toNumber(fields: Fields, name: string): number | undefined {
  const text = textField(fields, name).trim();
  if (text === '') return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw fieldFault(name, `"${labelOf(name)}" must be a whole number, such as 10.`);
}

function toJson(fields: Fields, name: string): unknown {
  const text = textField(fields, name).trim();
  if (text === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw fieldFault(name, `"${labelOf(name)}" must be a JSON value, such as {"order": 7}.`);
  }
}
