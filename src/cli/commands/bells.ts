// `deskbell bells`: addresses with a secret that ring one audience with what is posted there.
import type { Command } from 'commander';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { cutText } from '../../errors/untrusted-text.ts';
import {
  addBell,
  bellSettingNames,
  bellSettings,
  bellsPath,
  bellWithRequestsView,
  describeRung,
  listBells,
  type NewBell,
  type NewSecret,
  removeBell,
  rotateBell,
  showBell,
  type ShownRequest,
} from '../../operations/bells.ts';
import type { Operation } from '../../operations/operation.ts';
import type { Bell, BellSettings } from '../../store/bells.ts';
import { addOptions, type Context, createCommand } from '../command.ts';
import { type Configuration, dataSettings, flagOf } from '../configuration/configuration.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import {
  createChangeCommand,
  createDataCommand,
  createNamedListCommand,
  perform,
} from '../data/data-command.ts';
import { withExistingData } from '../data/open-data.ts';
import { addPeopleFlags, expressionOf, type PeopleFlags } from '../flags/arguments.ts';
import type { JsonFlag } from '../output/output.ts';
import { addressToShow } from './operators.ts';

const examples = [
  'deskbell bells add backups --user me',
  'deskbell bells add alerts --tag ops --urgency high --title Alerts',
];
const argument = 'Name of the bell.';

export const bellsCommand = (context: Context): Command =>
  createCommand({
    name: 'bells',
    description:
      'Adds, lists, shows and removes bells: addresses that ring an audience with what is posted there.',
    examples,
  })
    .addCommand(addCommand(context))
    .addCommand(
      createNamedListCommand(context, listBells, {
        description: 'Prints each bell with its audience, and when something was last posted there.',
        examples: ['deskbell bells list', 'deskbell bells list --json'],
        toText: formatBell,
        ifEmpty: 'No bells yet.',
      }),
    )
    .addCommand(showCommand(context))
    .addCommand(
      createSecretCommand(context, rotateBell, {
        name: 'rotate',
        description:
          'Gives a bell another address, and prints it this once. The former one rings nothing from then on.',
        examples: ['deskbell bells rotate backups'],
      }),
    )
    .addCommand(
      createChangeCommand(context, removeBell, {
        name: 'remove',
        examples: ['deskbell bells remove backups'],
        argument,
        toText: (_removed, { name }) => `Removed the bell ${name}.`,
      }),
    );

interface AddFlags extends JsonFlag, PeopleFlags, BellSettings {
  readonly all?: true;
}

function addCommand(context: Context): Command {
  const command = createSecretCommand<NewBell>(
    context,
    addBell,
    {
      name: 'add',
      description:
        'Makes a bell, and prints its address this once: only a hash of the secret in it is stored. Whoever has the address can ring ' +
        'its audience, and do nothing else.',
      examples,
    },
    (name, { all, ...flags }: AddFlags) => {
      const given = bellSettingNames.map((setting) => [setting, flags[setting]]);
      const audience = expressionOf(flags) ?? (all || flags.channel !== undefined ? 'all' : undefined);
      if (audience !== undefined) return { ...(Object.fromEntries(given) as BellSettings), name, audience };
      const detail = 'Choose whom the bell rings: --user, --tag, --any-tag, --not-tag, --channel or --all';
      throw new DeskbellError('ERR_USAGE', detail);
    },
  );
  addOptions(
    command,
    [],
    [['--all', 'Rings every subscription.', undefined, ['user', 'tag', 'anyTag', 'notTag']]],
  );
  return addOptions(
    addPeopleFlags(command, 'Rings', ['all']),
    [],
    bellSettingNames.map((name) => {
      const { value, description } = bellSettings[name];
      return [`${flagOf(name)} <${value}>`, description];
    }),
  );
}

/** A command that prints an address which is not shown again. */
function createSecretCommand<Input extends { readonly name: string }>(
  { environment, output }: Context,
  operation: Operation<Input, NewSecret>,
  words: { readonly name: string; readonly description: string; readonly examples: readonly string[] },
  toInput = (name: string, _flags: JsonFlag) => ({ name }) as Input,
): Command {
  const settings = [...dataSettings, 'bellsUrl', 'operator', 'operatorCert'] as const;
  return createCommand({ ...words, settings, json: 'Prints JSON.' })
    .argument('<name>', argument)
    .action(async (given: string, flags: JsonFlag & Readonly<Record<string, unknown>>) => {
      const input = toInput(given, flags);
      // as the API does
      const { checkInput } = await import('../../operator/validator.ts');
      checkInput(operation, input);
      const configuration = await readConfiguration({ flags, environment });
      const { name, secret } = await withExistingData(configuration, (data) =>
        perform(data, operation, input),
      );
      const url = `${await addressOfBells(configuration)}/${secret}`;
      await output.result(flags, { name, url }, url);
      if (flags.json || configuration.bellsUrl !== undefined) return;
      output.diagnostic(
        'That is on this machine. If bells are reached at another address, such as https://bell.example.org/ring, give it to serve as --bells-url.',
      );
    });
}

/** The address of bells, without a final slash. */
const addressOfBells = async (configuration: Configuration): Promise<string> =>
  configuration.bellsUrl?.replace(/\/+$/, '') ?? `${await addressToShow(configuration)}${bellsPath}`;

function formatBell(bell: Bell): string {
  const { name, lastRequestAtMs: atMs } = bell;
  const last = atMs === undefined ? 'nothing came yet' : `last at ${isoTime(atMs)}`;
  return [name, `to ${describeRung(bell)}`, last].join('  ');
}

const showCommand = ({ environment, output }: Context): Command =>
  createDataCommand(environment, {
    name: 'show',
    description:
      'Prints a bell and its last ten requests: from which tool, what came of each, and in which words.',
    json: 'Prints JSON.',
    examples: ['deskbell bells show alerts'],
  })
    .argument('<name>', argument)
    .onData(async ({ store }, name: string, flags: JsonFlag) => {
      const bell = await showBell(store, name);
      const texts = bellSettingNames.flatMap((text) => (bell[text] ? `  ${text}  ${bell[text]}` : []));
      const lines = [formatBell(bell), ...texts, ...bell.requests.map(formatRequest)];
      await output.result(flags, bellWithRequestsView.toJson(bell), lines.join('\n'));
    });

function formatRequest({
  atMs,
  tool,
  outcome,
  broadcastId,
  title,
  message = '',
  leftOut,
  shape,
}: ShownRequest): string {
  const made = broadcastId === undefined ? [] : [`broadcast ${broadcastId}`];
  const words = title === undefined ? [] : [`“${title}: ${cutText(message, 100)}”`];
  return [
    `  ${[isoTime(atMs), tool, outcome, ...made, ...words].join('  ')}`,
    ...(leftOut === undefined ? [] : [`    left out: ${leftOut}`]),
    ...(shape === undefined ? [] : [`    not understood: ${shape}`]),
  ].join('\n');
}
