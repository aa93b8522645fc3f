// `deskbell bells`: manages secret addresses. Requests to such an address become notifications for one audience.
import type { Command } from 'commander';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { cutText } from '../../errors/untrusted-text.ts';
import { bellsPath } from '../../http/unknown-paths.ts';
import {
  addBell,
  bellSettingNames,
  bellSettings,
  bellWithRequestsView,
  describeRung,
  hasAudience,
  listBells,
  type NewBell,
  type NewSecret,
  remarksOf,
  removeBell,
  rotateBell,
  showBell,
  type ShownRequest,
} from '../../operations/bells.ts';
import type { Operation } from '../../operations/operation.ts';
import type { Bell, BellSettings } from '../../store/bells.ts';
import { addOptions, type Context, createCommand } from '../command.ts';
import { type Configuration, flagOf } from '../configuration/configuration.ts';
import {
  createChangeCommand,
  createDataCommand,
  createNamedListCommand,
  nameFlags,
  perform,
} from '../data/data-command.ts';
import { addPeopleFlags, expressionOf, type PeopleFlags } from '../flags/arguments.ts';
import { createCommandHint, quote } from '../output/command-hint.ts';
import type { JsonFlag } from '../output/output.ts';
import { addressToShow } from './operators.ts';

const examples = [
  'deskbell bells add backups --user me',
  'deskbell bells add alerts --tag ops --urgency high --title Alerts',
];
const argument = 'The bell’s name.';

export const bellsCommand = (context: Context): Command =>
  createCommand({
    name: 'bells',
    description:
      'Adds, lists, shows and removes bells: addresses whose requests become notifications for an audience.',
    examples,
  })
    .addCommand(addCommand(context))
    .addCommand(
      createNamedListCommand(context, listBells, {
        description: 'Prints each bell with its audience and the time of the last request.',
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
          'Gives a bell a new address and prints the address. Deskbell shows the address only once. The old address ' +
          'stops working at once.',
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
        'Creates a bell and prints its address. Deskbell shows the address only once, since it stores only a hash of ' +
        'the secret. Anyone who has the address can ring the bell, but cannot do anything else.',
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

/** Returns the flag for a member of the body, such as `--tag` for `audience.tags.all[0]`. */
const flagOfMember = (member: string): string => {
  const [, part = ''] = /^audience\.(?:tags\.)?(\w+)/.exec(member) ?? [];
  return member === 'name' ? '<name>' : (audienceFlags[part] ?? flagOf(member));
};
const audienceFlags: Readonly<Record<string, string>> = {
  user: '--user',
  all: '--tag',
  any: '--any-tag',
  none: '--not-tag',
};

interface SecretFlags extends JsonFlag {
  readonly user?: string;
}

/** Creates a command that prints an address. The address cannot be shown again later. */
function createSecretCommand<Input extends { readonly name: string }>(
  context: Context,
  operation: Operation<Input, NewSecret>,
  words: { readonly name: string; readonly description: string; readonly examples: readonly string[] },
  toInput = (name: string, _flags: JsonFlag) => ({ name }) as Input,
): Command {
  const { environment, output } = context;
  return createDataCommand(environment, {
    ...words,
    settings: ['bellsUrl', 'operator', 'operatorCert'],
    json: 'Prints JSON.',
  })
    .argument('<name>', argument)
    .onData(async (data, given: string, flags: SecretFlags, command: Command) => {
      const { store, configuration } = data;
      const input = toInput(given, flags);
      const { checkInput } = await import('../../operator/validator.ts');
      const create = async () => {
        // the same check as in the API
        checkInput(operation, input);
        return perform(data, operation, input);
      };
      const { name, secret } = await create().catch((error: unknown) => {
        throw nameFlags(error, command, flagOfMember);
      });
      const url = `${await addressOfBells(configuration)}/${secret}`;
      await output.result(flags, { name, url }, url);
      if (flags.json) return;
      if (!(await hasAudience(store, await store.bells.get(name)))) {
        const invite = createCommandHint(context, flags)(`invite ${quote(flags.user ?? 'me')}`);
        output.diagnostic(
          `Nobody gets it yet: no subscription is in its audience. To invite a browser: ${invite}`,
        );
      }
      if (configuration.bellsUrl !== undefined) return;
      output.diagnostic(
        'That is on this machine. If bells are reached at another address, such as https://bell.example.org/ring, give it to serve as --bells-url.',
      );
    });
}

/** The base URL of all bells, without a trailing slash. */
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
      'Prints a bell and its last ten requests: the tool, the result, and the text that was shown.',
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
  ...request
}: ShownRequest): string {
  const made = broadcastId === undefined ? [] : [`broadcast ${broadcastId}`];
  const text = cutText(message.replaceAll(/\s*\n\s*/g, ' '), 100);
  const words = title === undefined ? [] : [`“${title}: ${text}”`];
  return [
    `  ${[isoTime(atMs), tool, outcome, ...made, ...words].join('  ')}`,
    ...remarksOf({ atMs, tool, outcome, ...request }).map(([label, remark]) => `    ${label}: ${remark}`),
  ].join('\n');
}
