// Commands on the data that flags, environment or configuration file name.
import { Command } from 'commander';
import { describeCommand, type CommandDescription } from '../command.ts';
import { dataSettings } from '../configuration/configuration.ts';
import type { Context } from '../context.ts';
import type { DataDirectory } from './data-directory.ts';
import { withNamedData } from './open-data.ts';

class DataCommand extends Command {
  readonly #environment: Context['environment'];

  constructor(name: string, environment: Context['environment']) {
    super(name);
    this.#environment = environment;
  }

  /** @param work is given the data, then what commander gives an action: arguments and flags */
  onData<Given extends readonly unknown[]>(
    work: (data: DataDirectory, ...given: Given) => Promise<void>,
  ): this {
    return this.action((...given) => {
      // Other flags may have the name of a setting.
      const { data, database, config } = this.opts();
      return withNamedData({ data, database, config }, this.#environment, (opened) =>
        work(opened, ...(given as unknown as Given)),
      );
    });
  }
}

export const createDataCommand = (
  environment: Context['environment'],
  description: Omit<CommandDescription, 'settings'>,
): DataCommand =>
  describeCommand(new DataCommand(description.name, environment), { ...description, settings: dataSettings });
