// The flags of `deskbell send` that say how messages are delivered, one for each option that is described with a flag.
import { InvalidArgumentError, Option, type Command } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { pushOptionChecks } from '../../protocol/request.ts';
import {
  deliveryOptions,
  pickDeliveryOptions,
  type DeliveryOptions,
  type OptionDescription,
} from '../../store/delivery-options.ts';
import { parserOf } from './message-flags.ts';

const deliveryFlags = Object.entries<OptionDescription>(deliveryOptions).flatMap(([name, option]) =>
  option.flag === undefined
    ? []
    : [{ name, option, attribute: new Option(`--${option.flag}`).attributeName() }],
);

/**
 * @param kind those of any message, or those of broadcasts alone
 * @param conflicts attributes of options that they do not go with
 */
export function addDeliveryFlags(
  command: Command,
  kind: 'any' | 'broadcast',
  conflicts: readonly string[] = [],
): Command {
  for (const { name, option } of deliveryFlags) {
    const isOfAnyMessage = Object.hasOwn(pushOptionChecks, name);
    if (isOfAnyMessage === (kind === 'any')) {
      command.addOption(createDeliveryOption(option).conflicts([...conflicts]));
    }
  }
  return command;
}

/** The options that the flags give. */
export function readDeliveryFlags(given: object): DeliveryOptions {
  const values: Readonly<Record<string, unknown>> = { ...given };
  return pickDeliveryOptions(
    Object.fromEntries(deliveryFlags.map(({ name, attribute }) => [name, values[attribute]])),
  );
}

/** The options as these flags: `--channel news --quiet-hours 22:00-07:00`. */
export function formatDeliveryFlags(options: object): string {
  const values: Readonly<Record<string, unknown>> = { ...options };
  return deliveryFlags
    .filter(({ name }) => values[name] !== undefined)
    .map(({ name, option: { flag } }) => `--${flag!.split(' ', 1)[0]!} ${String(values[name])}`)
    .join(' ');
}

function createDeliveryOption(option: OptionDescription): Option {
  const { schema, description, byDefault, flag, check } = option;
  const words = byDefault === undefined ? description : `${description} (default: ${byDefault})`;
  const created = new Option(`--${flag}`, words);
  if (schema.type === 'boolean') return created;
  if (schema.enum !== undefined) return created.choices(schema.enum);
  return created.argParser(parserOf(schema) ?? ((value) => checked(value, created.long!, check)));
}

/** A text that is not usable is refused with the other flags. */
function checked(value: string, name: string, check: OptionDescription['check']): string {
  try {
    check(value, name);
  } catch (error) {
    throw error instanceof DeskbellError ? new InvalidArgumentError(error.message) : error;
  }
  return value;
}
