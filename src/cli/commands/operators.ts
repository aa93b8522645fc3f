// `deskbell operators`: manages the people and programs that may use the operator's listener, and their tokens.
import { Argument, Option, type Command } from 'commander';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import type { ErrorCode } from '../../errors/catalogue.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { generateOperatorToken } from '../../keys/secret-files.ts';
import type { Operator, OperatorRole } from '../../store/operators.ts';
import type { NewSchedule } from '../../store/schedules.ts';
import type { Store } from '../../store/store.ts';
import { parseOperatorName } from '../flags/arguments.ts';
import { type Context, createCommand } from '../command.ts';
import { dataSettings, type Configuration } from '../configuration/configuration.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import { createDataCommand, createListCommand } from '../data/data-command.ts';
import { readOperatorAddress } from '../data/noted-facts.ts';
import { exists, withData } from '../data/open-data.ts';
import type { JsonFlag } from '../output/output.ts';

export function operatorsCommand(context: Context): Command {
  return createCommand({
    name: 'operators',
    description:
      'Adds, lists and removes operators: people and programs that may use the listener of "serve --operator", each with a token.',
    examples: ['deskbell operators add shop'],
  })
    .addCommand(addCommand(context))
    .addCommand(listCommand(context))
    .addCommand(removeCommand(context));
}

interface AddFlags extends JsonFlag {
  readonly readOnly?: true;
  readonly send?: true;
  readonly metrics?: true;
}

function addCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'add',
    description:
      'Adds an operator and prints its token. Deskbell shows the token only once, since it stores only the hash of ' +
      'the token. The command creates the data directory if it does not exist.',
    settings: [...dataSettings, 'operator', 'operatorCert'],
    json: 'Prints JSON.',
    examples: [
      'deskbell operators add shop',
      'deskbell operators add backup --send',
      'deskbell operators add prometheus --metrics',
    ],
  })
    .addArgument(nameArgument())
    .addOption(
      new Option('--read-only', 'The token does not allow changing or sending anything.').conflicts([
        'send',
        'metrics',
      ]),
    )
    .addOption(
      new Option(
        '--send',
        'The token allows only sending, and seeing the operator’s own broadcasts.',
      ).conflicts('metrics'),
    )
    .option('--metrics', 'The token allows only reading /metrics.')
    .action(async (name: string, { readOnly, send, metrics, json, ...flags }: AddFlags) => {
      const configuration = await readConfiguration({ flags, environment });
      const isNew = !(await exists(configuration.data));
      const { token, tokenHash } = generateOperatorToken();
      const role: OperatorRole = metrics ? 'metrics' : send ? 'send' : readOnly ? 'read' : 'full';
      await withData(configuration, {}, ({ store }) => store.operators.add({ name, role, tokenHash }));
      if (isNew) output.diagnostic(`Created the data directory ${configuration.data}.`);
      await output.result({ json }, { name, role, token }, token);
      if (json || (role !== 'full' && role !== 'send')) return;
      const line = sendLine(await addressToShow(configuration), token);
      output.diagnostic(`To send a message with it to the person "me":\n  ${line}`);
    });
}

/** Returns the configured address, or the last address of `serve`, or else the address used in examples. */
export async function addressToShow({
  data,
  operator,
  operatorCert,
}: Pick<Configuration, 'data' | 'operator' | 'operatorCert'>): Promise<string> {
  if (operator !== undefined) return `http${operatorCert === undefined ? '' : 's'}://${operator}`;
  return (await readOperatorAddress(data)) ?? 'http://127.0.0.1:8081';
}

/** A command line that the user can copy. */
function sendLine(address: string, token: string): string {
  const headers = [`Authorization: Bearer ${token}`, 'content-type: text/plain'];
  const given = headers.map((header) => `-H "${header}"`).join(' ');
  return `curl --fail-with-body --retry 5 --retry-connrefused ${given} -d "Backups are done" '${address}/v1/messages?user=me'`;
}

const listCommand = (context: Context): Command =>
  createListCommand(context, {
    description:
      'Prints the name, role and age of each operator. Deskbell does not store tokens, so it cannot show them.',
    examples: ['deskbell operators list'],
    rowsOf: ({ store }) => store.operators.list(),
    toJson,
    toText,
    ifEmpty: 'No operators yet.',
  });

function removeCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'remove',
    description:
      'Removes an operator. The operator’s token and sessions stop working. Without --pause, the operator’s ' +
      'broadcasts and schedules continue after the removal, and the command lists them.',
    json: 'Prints JSON.',
    examples: ['deskbell operators remove shop', 'deskbell operators remove shop --pause'],
  })
    .addArgument(nameArgument())
    .option(
      '--pause',
      'Also pauses the operator’s broadcasts and schedules, even if the operator was removed before.',
    )
    .onData(async ({ store }, name: string, flags: JsonFlag & { readonly pause?: true }) => {
      const isPaused = flags.pause === true;
      const found = await findWorkOf(store, name);
      const isRemoved = await store.operators.remove(name);
      // an earlier call may have removed the operator, and then failed before everything was paused
      if (!isRemoved && !(isPaused && found.broadcasts.length + found.schedules.length > 0)) {
        throw new DeskbellError('ERR_OPERATOR_NOT_FOUND', `There is no operator ${name}`);
      }
      const going = isPaused
        ? {
            broadcasts: await pauseEach(found.broadcasts, store.broadcasts),
            schedules: await pauseEach(found.schedules, store.schedules),
          }
        : found;
      const text = [`Removed ${name}`, ...describeWork(going, isPaused)].join('\n');
      await output.result(flags, { name, removed: true, ...going, paused: isPaused }, text);
    });
}

/**
 * Finds the broadcasts and schedules that an operator has created and that are neither over nor paused. Returns their
 * IDs.
 */
async function findWorkOf({ broadcasts, schedules }: Store, name: string) {
  const isOwn = ({ createdBy }: Partial<Pick<NewSchedule, 'createdBy'>>) =>
    createdBy !== undefined && 'operator' in createdBy && createdBy.operator === name;
  const open = (await broadcasts.listOpen(Number.MAX_SAFE_INTEGER)).filter(isOwn);
  const all = (await schedules.list()).filter(isOwn);
  return {
    broadcasts: open.filter(({ state }) => state !== 'paused').map(({ id }) => id),
    schedules: all.filter(({ pausedAtMs }) => pausedAtMs === undefined).map(({ id }) => id),
  };
}

const hasEnded: ReadonlySet<string> = new Set<ErrorCode>([
  'ERR_BROADCAST_STATE',
  'ERR_BROADCAST_NOT_FOUND',
  'ERR_SCHEDULE_NOT_FOUND',
]);

/** @returns the ids that were paused. Some of `ids` may have ended before they could be paused */
async function pauseEach(
  ids: readonly number[],
  store: { pause(id: number): Promise<unknown> },
): Promise<readonly number[]> {
  const paused: number[] = [];
  for (const id of ids) {
    try {
      await store.pause(id);
      paused.push(id);
    } catch (error) {
      if (!(error instanceof DeskbellError && hasEnded.has(error.code))) throw error;
    }
  }
  return paused;
}

const describeWork = (
  going: Readonly<Record<string, readonly number[]>>,
  isPaused: boolean,
): readonly string[] =>
  Object.entries(going).flatMap(([kind, ids]) =>
    ids.length === 0
      ? []
      : [
          `Its ${kind} ${ids.join(', ')} ${isPaused ? 'are paused' : `go on; "deskbell ${kind} pause" pauses each`}`,
        ],
  );

const nameArgument = (): Argument =>
  new Argument('<name>', 'The operator’s name, as the audit shows it.').argParser(parseOperatorName);

const toJson = ({ name, role, createdAtMs }: Operator): object => ({
  name,
  role,
  createdAt: isoTime(createdAtMs),
});

const toText = ({ name, role, createdAtMs }: Operator): string =>
  `${role.padEnd(7)}  ${isoTime(createdAtMs)}  ${name}`;
