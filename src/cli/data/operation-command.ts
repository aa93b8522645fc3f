// Commands that are made from the operations: what they change is done, checked and audited as by API and console.
import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { createWarningReader } from '../../delivery/installation-warnings.ts';
import { operatorErrors } from '../../errors/catalogue/operator-errors.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Change, NamedList, Operation } from '../../operations/operation.ts';
import type { Store } from '../../store/store.ts';
import type { CommandDescription } from '../command.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';
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

interface ChangeCommand<Given, Flags, Input, Result> extends Pick<
  CommandDescription,
  'name' | 'description'
> {
  readonly json?: string;
  readonly examples: CommandDescription['examples'];
  /** What is changed: its placeholder, description and parser. */
  readonly argument: readonly [name: string, description: string, parse?: (text: string) => Given];
  /** What the operation is given. */
  input(given: Given, flags: Flags, store: Store): Input | Promise<Input>;
  /** Default: as the API shows it. */
  toJson?(result: Result, given: Given): object;
  toText(result: Result, given: Given, store: Store): string | Promise<string>;
  /** Who asks. Default: the user of this process. */
  operatorOf?(flags: Flags): string;
}

/** A command that changes one thing. */
export const createChangeCommand = <Given, Flags extends JsonFlag, Input, Result>(
  { environment, output }: Context,
  operation: Change<Input, Result> & Pick<Operation<Input, Result>, 'answer'>,
  change: ChangeCommand<Given, Flags, Input, Result>,
): Command => {
  const { name, description, json = 'Prints JSON.', examples, argument, input, toText } = change;
  const { toJson = operation.answer?.toJson, operatorOf = processUser } = change;
  const [placeholder, about, parse] = argument;
  const command = createDataCommand(environment, { name, description, json, examples });
  return (
    parse === undefined ? command.argument(placeholder, about) : command.argument(placeholder, about, parse)
  ).onData(async (data, given: Given, flags: Flags) => {
    const result = await perform(data, operation, await input(given, flags, data.store), operatorOf(flags));
    await output.result(flags, toJson!(result, given), await toText(result, given, data.store));
  });
};

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
