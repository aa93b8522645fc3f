// `deskbell people`: shows and changes a person's data and channel choices.
import type { Command } from 'commander';
import type { Person } from '../../audience/person.ts';
import type { Choices } from '../../audience/channels.ts';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { countOf } from '../../errors/format-count.ts';
import { checkUser } from '../../audience/user-and-tags.ts';
import type { Store } from '../../store/store.ts';
import { checkedRemovalView, checkRemoval, personView, updatePerson } from '../../operations/people.ts';
import { type Context, createCommand } from '../command.ts';
import { createChangeCommand, createDataCommand } from '../data/data-command.ts';
import type { JsonFlag } from '../output/output.ts';

export function peopleCommand(context: Context): Command {
  return createCommand({
    name: 'people',
    description:
      'Shows and sets a person’s data, language, time zone and choices of channels, and checks the receipt of a removal.',
    examples: ['deskbell people show 42', 'deskbell people set 42 --channel news=off'],
  })
    .addCommand(showCommand(context))
    .addCommand(setCommand(context))
    .addCommand(removalCommand(context));
}

function showCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'show',
    description: 'Prints a person’s data, language and time zone, and which channels are on.',
    json: 'Prints JSON.',
    examples: ['deskbell people show 42'],
  })
    .argument('<user>', 'The person.')
    .onData(async ({ store }, user: string, flags: JsonFlag) => {
      const person = await store.readers.person(user);
      await output.result(flags, personView.toJson(person), await formatPerson(person, store));
    });
}

function removalCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'removal',
    description:
      'Checks the receipt that "subscriptions remove --user" printed, and prints the time of the removal. The ' +
      'command can check a receipt as long as Deskbell keeps the audit record of the removal. The exit code is 1 if ' +
      'the receipt belongs to a different person.',
    json: 'Prints JSON.',
    examples: ['deskbell people removal 42 --receipt q6vJ0yqN3l0sG1X2e5m7bA'],
  })
    .argument('<user>', 'The person.')
    .requiredOption('--receipt <receipt>', 'The receipt, as the command printed it.')
    .onData(async ({ store }, user: string, flags: JsonFlag & { readonly receipt: string }) => {
      const removal = await checkRemoval(store, checkUser(user, '/user'), flags.receipt);
      const { removedAtMs, by = '', subscriptions } = removal;
      if (removedAtMs === undefined) {
        throw new DeskbellError(
          'ERR_FIELD_VALUE',
          'The receipt is not of this person, or the audit of that time is no longer kept',
        );
      }
      const now = `${countOf(subscriptions, 'subscription')} of theirs ${subscriptions === 1 ? 'is' : 'are'} stored now`;
      const text = `Removed at ${isoTime(removedAtMs)} by ${by}; ${now}.`;
      await output.result(flags, checkedRemovalView.toJson(removal), text);
    });
}

const setCommand = (context: Context): Command =>
  createChangeCommand(context, updatePerson, {
    name: 'set',
    description:
      'Sets a person’s data, language, time zone and choices. Values that you leave out stay unchanged.',
    examples: [
      `deskbell people set 42 --values '{"name": "Ada", "points": 3}' --language de --timezone Europe/Berlin`,
      'deskbell people set 42 --channel news=off --channel offers=default',
    ],
    argument: 'The person.',
    flags: {
      data: [
        '--values <json>',
        'Texts and numbers for placeholders, as a JSON object; null removes a value.',
      ],
      language: [
        '--language <tag>',
        'Language (BCP 47), such as pt-BR. If it is empty, the language of each browser applies.',
      ],
      timeZone: [
        '--timezone <name>',
        'Time zone (IANA), such as Europe/Berlin. If it is empty, the time zone of each browser applies.',
      ],
      channels: [
        '--channel <name=state>',
        'Switches a channel on or off. The state "default" withdraws the choice. You can repeat this option.',
      ],
    },
    toText: (person, _input, store) => formatPerson(person, store),
  });

async function formatPerson(
  { user, data, language, timeZone, channels }: Person,
  store: Store,
): Promise<string> {
  const holding = await store.readers.choices({ user });
  return [
    `Person ${user}`,
    `  data       ${Object.keys(data).length === 0 ? 'none' : JSON.stringify(data)}`,
    `  language   ${language ?? 'that of each browser'}`,
    `  time zone  ${timeZone ?? 'that of each browser'}`,
    ...Object.entries(holding).map(([name, isOn]) => formatChoice(name, isOn, channels)),
  ].join('\n');
}

const formatChoice = (name: string, isOn: boolean, made: Choices): string =>
  `  ${name}: ${isOn ? 'on' : 'off'}, ${Object.hasOwn(made, name) ? 'chosen' : 'by default'}`;
