// Commands that are made from the operations: what they change is done, checked and audited as by API and console.
import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { createWarningReader } from '../../delivery/installation-warnings.ts';
import { operatorErrors } from '../../errors/catalogue.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Change, NamedList, Operation } from '../../operations/operation.ts';
import type { Store } from '../../store/store.ts';
import type { CommandDescription } from '../command.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';
import { parsePositiveInteger } from '../flags/arguments.ts';
import { addMemberFlags, readMemberFlags, type MemberFlags } from '../flags/member-flags.ts';
import { createPersonHash } from '../serve/person-hash.ts';
import { createDataCommand, createListCommand } from './data-command.ts';
import type { DataDirectory } from './data-directory.ts';

const warningsOf = ({ store, vapidKeys }: DataDirectory) =>
  createWarningReader(store, vapidKeys.keyDirectory);

/** `list` of what there are few of: all of them. */
export const createNamedListCommand = <Row>(
  context: Context,
  { view, read }: Pick<NamedList<Row>, 'view' | 'read'>,
  words: Omit<Parameters<typeof createListCommand<Row>>[1], 'rowsOf' | 'toJson'>,
): Command =>
  createListCommand(context, {
    ...words,
    toJson: view.toJson,
    rowsOf: (data) => read({ store: data.store, readWarnings: warningsOf(data) }),
  });

interface ChangeCommand<Input, Result> extends Pick<CommandDescription, 'name' | 'examples'> {
  /** Default: what the API says of the operation. */
  readonly description?: string;
  /** What is changed: the words for it, and how its text is read if the schema does not say that. */
  readonly argument: string | readonly [description: string, parse: (text: string) => unknown];
  /** Flags for members of the body. */
  readonly flags?: { readonly [Member in keyof Input]?: MemberFlags[string] };
  /** Default: the answer of the API, or what was removed. */
  toJson?(result: Result): object;
  toText(result: Result, input: Input, store: Store): string | Promise<string>;
  /** Who asks. Default: the user of this process. */
  operatorOf?(flags: Readonly<Record<string, unknown>>): string;
}

/** A command that changes one thing. */
export function createChangeCommand<Input, Result>(
  { environment, output }: Context,
  operation: Operation<Input, Result>,
  { name, description, examples, argument, toText, ...change }: ChangeCommand<Input, Result>,
): Command {
  const { params, query, body, answer, summary, description: details } = operation;
  const [key, schema] = Object.entries({ ...params, ...query })[0]!;
  const [about, parse] = typeof argument === 'string' ? [argument] : argument;
  const parseKey = parse ?? (schema['type'] === 'integer' ? parsePositiveInteger : String);
  const flags = (change.flags ?? {}) as MemberFlags;
  const command = createDataCommand(environment, {
    name,
    description: description ?? `${summary}.${details === undefined ? '' : ` ${details}`}`,
    json: 'Prints JSON.',
    examples,
  }).argument(`<${key}>`, about, (text: string) => parseKey(text));
  if (body !== undefined) addMemberFlags(command, body, flags);
  return command.onData(
    async (data, given: unknown, options: JsonFlag & Readonly<Record<string, unknown>>) => {
      const input = { [key]: given, ...readMemberFlags(options, body, flags) } as Input;
      const result = await perform(data, operation, input, change.operatorOf?.(options));
      const { toJson = answer?.toJson ?? (() => ({ [key]: given, removed: true })) } = change;
      await output.result(options, toJson(result), await toText(result, input, data.store));
    },
  );
}

/** Does it, and leaves its record in the audit. @param operator default: the user of this process */
export function perform<Input, Result>(
  data: DataDirectory,
  { action, target, run }: Change<Input, Result>,
  input: Input,
  operator = processUser(),
): Promise<Result> {
  const { store } = data;
  const context = { store, readWarnings: warningsOf(data), hashPerson: createPersonHash(data.sessionKey) };
  return audited(store, { operator, action, target: target(input, context) }, () =>
    run(context, input, operator),
  );
}

/** The record is written before the change, and completed with the status that the API would answer with. */
export async function audited<Result>(
  { audit }: Pick<Store, 'audit'>,
  change: Parameters<Store['audit']['begin']>[0],
  run: () => Promise<Result>,
): Promise<Result> {
  const record = await audit.begin(change);
  try {
    const result = await run();
    await audit.finish(record, { status: 200 });
    return result;
  } catch (error) {
    await audit.finish(record, { status: statusOf(error) });
    throw error;
  }
}

const statuses: Readonly<Partial<Record<string, { readonly status: number }>>> = operatorErrors;
const statusOf = (error: unknown): number =>
  (error instanceof DeskbellError ? statuses[error.code]?.status : undefined) ?? 500;

/** Its name, or its number where it has none, as in a container. */
export function processUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
