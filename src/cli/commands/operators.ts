// `deskbell operators`: who may use the operator's listener, each with a token.
import { Argument, Option, type Command } from 'commander';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { generateOperatorToken } from '../../keys/operator-token.ts';
import type { Operator, OperatorRole } from '../../store/operators.ts';
import { parseOperatorName } from '../flags/arguments.ts';
import { createCommand } from '../command.ts';
import { createDataCommand } from '../data/data-command.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../output/output.ts';

export function operatorsCommand(context: Context): Command {
  return createCommand({
    name: 'operators',
    description:
      'Adds, lists and removes operators: those who may use the listener of "serve --operator", each with a token.',
    examples: ['deskbell operators add shop'],
  })
    .addCommand(addCommand(context))
    .addCommand(listCommand(context))
    .addCommand(removeCommand(context));
}

interface AddFlags {
  readonly readOnly?: true;
  readonly metrics?: true;
  readonly json?: true;
}

function addCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'add',
    description: 'Adds an operator and prints its token. It is shown this once: only its hash is stored.',
    json: 'Prints JSON.',
    examples: ['deskbell operators add shop', 'deskbell operators add prometheus --metrics'],
  })
    .addArgument(nameArgument())
    .addOption(new Option('--read-only', 'The token changes and sends nothing.').conflicts('metrics'))
    .option('--metrics', 'The token is for /metrics alone.')
    .onData(async ({ store }, name: string, { readOnly, metrics, json }: AddFlags) => {
      const { token, tokenHash } = generateOperatorToken();
      const role: OperatorRole = metrics ? 'metrics' : readOnly ? 'read' : 'full';
      await store.operators.add({ name, role, tokenHash });
      await output.result({ json }, { name, role, token }, token);
    });
}

function listCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'list',
    description: 'Prints name, role and age of each operator. Tokens are not stored and not shown.',
    json: 'Prints JSON Lines.',
    examples: ['deskbell operators list'],
  }).onData(async ({ store }, flags: JsonFlag) => {
    const rows = await store.operators.list();
    await output.table(flags, { rows, toJson, toText, ifEmpty: 'No operators yet.' });
  });
}

function removeCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'remove',
    description: 'Removes an operator. Its token and its sessions are not valid from then on.',
    json: 'Prints JSON.',
    examples: ['deskbell operators remove shop'],
  })
    .addArgument(nameArgument())
    .onData(async ({ store }, name: string, flags: JsonFlag) => {
      if (!(await store.operators.remove(name))) {
        throw new DeskbellError('ERR_OPERATOR_NOT_FOUND', `There is no operator ${name}`);
      }
      await output.result(flags, { name, removed: true }, `Removed ${name}`);
    });
}

const nameArgument = (): Argument =>
  new Argument('<name>', 'Name of the operator, as the audit shows it.').argParser(parseOperatorName);

const toJson = ({ name, role, createdAtMs }: Operator): object => ({
  name,
  role,
  createdAt: isoTime(createdAtMs),
});

const toText = ({ name, role, createdAtMs }: Operator): string =>
  `${role.padEnd(7)}  ${isoTime(createdAtMs)}  ${name}`;
