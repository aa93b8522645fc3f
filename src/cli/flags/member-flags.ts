// Makes flags for the members of an operation's body from its schema; a member's type decides how its text is read.
import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseJsonObject } from '../../protocol/json-object.ts';
import type { Schema } from '../../http/schema.ts';

/** By member: its flag, such as `--title <text>`, and its help. Default: the description in the schema. */
export type MemberFlags = Readonly<Record<string, readonly [flag: string, description?: string]>>;

interface Body extends Schema {
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly examples?: readonly Readonly<Record<string, unknown>>[];
}

type Parse = (text: string, former: Readonly<Record<string, unknown>> | undefined) => unknown;

const states = ['on', 'off'];
const choices: Readonly<Record<string, boolean | null>> = { on: true, off: false, default: null };
const typesOf = ({ type }: Schema): readonly unknown[] => (Array.isArray(type) ? type : [type]);

export function addMemberFlags(command: Command, body: Schema, flags: MemberFlags): void {
  const { properties, required = [], examples: [example = {}] = [] } = body as Body;
  for (const [member, [flag, description]] of Object.entries(flags)) {
    const schema = properties[member]!;
    const option = new Option(flag, description ?? String(schema['description']));
    if (typesOf(schema).includes('boolean')) option.choices(states);
    else option.argParser(parserOf(schema, example[member]) as (text: string) => unknown);
    command.addOption(option.makeOptionMandatory(required.includes(member)));
  }
}

/** The members of the body that the flags give. */
export const readMemberFlags = (
  given: Readonly<Record<string, unknown>>,
  body: Schema | undefined,
  flags: MemberFlags,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(flags).map(([member, [flag]]) => {
      const value = given[new Option(flag).attributeName()];
      const types = typesOf((body as Body).properties[member]!);
      // commander turns a null from a parser into ''
      if (types.includes('null') && value === '') return [member, null];
      return [member, types.includes('boolean') && value !== undefined ? value === 'on' : value];
    }),
  );

function parserOf(schema: Schema, example: unknown): Parse {
  if (typesOf(schema).includes('object')) {
    const values = schema['additionalProperties'] as Schema;
    if (typesOf(values).includes('boolean')) return parseEntry(/^(.+)=(on|off|default)$/, toChoice, example);
    if (typesOf(values).includes('string')) return parseEntry(/^([^=]+)=(.*)$/, toTextOrNull, example);
    return parseObject(example);
  }
  const { minLength = 0, maxLength = Infinity } = schema as Readonly<Partial<Record<string, number>>>;
  return (text) => {
    const trimmed = text.trim();
    if (trimmed.length >= minLength && trimmed.length <= maxLength) return trimmed;
    throw new InvalidArgumentError(`It must have ${minLength} to ${maxLength} characters.`);
  };
}

const toTextOrNull = (text: string): string | null => (text === '' ? null : text);
const toChoice = (text: string): boolean | null => choices[text]!;

/** A flag that may be given several times, each with one entry of the object. */
const parseEntry =
  (pattern: RegExp, toValue: (text: string) => unknown, example: unknown): Parse =>
  (text, former = {}) => {
    const [, name, value] = pattern.exec(text) ?? [];
    if (name !== undefined && value !== undefined) return { ...former, [name]: toValue(value) };
    const [[one, shown] = []] = Object.entries(example as object);
    const state = typeof shown === 'boolean' ? states[Number(!shown)] : String(shown);
    throw new InvalidArgumentError(
      `It must be a name and ${typeof shown === 'boolean' ? 'on, off or default' : 'a text'}, such as ${one}=${state}.`,
    );
  };

const parseObject =
  (example: unknown): Parse =>
  (text) => {
    const object = parseJsonObject(text);
    if (object !== undefined) return object;
    throw new InvalidArgumentError(`It must be a JSON object, such as '${JSON.stringify(example)}'.`);
  };
