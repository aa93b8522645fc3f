// Commands on the data that flags, environment or configuration file name.
import { Command } from 'commander';
import { describeCommand, type CommandDescription } from '../command.ts';
import { dataSettings } from '../configuration/configuration.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import type { Context } from '../context.ts';
import type { JsonFlag, Table } from '../output/output.ts';
import type { DataDirectory } from './data-directory.ts';
import { withExistingData } from './open-data.ts';

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
    return this.action(async (...given) => {
      // Other flags may have the name of a setting.
      const { data, database, groupAccess, config } = this.opts();
      const sources = { flags: { data, database, groupAccess, config }, environment: this.#environment };
      await withExistingData(await readConfiguration(sources), (opened) =>
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

/** `list`, or a command of another name, of what there are few of: all of them. @param rowsOf reads them */
export const createListCommand = <Row>(
  { environment, output }: Pick<Context, 'environment' | 'output'>,
  {
    name = 'list',
    description,
    examples,
    rowsOf,
    ...table
  }: Pick<CommandDescription, 'description' | 'examples'> & { readonly name?: string } & Omit<
      Table<Row>,
      'rows'
    > & { rowsOf(data: DataDirectory): Promise<readonly Row[]> },
): Command =>
  createDataCommand(environment, {
    name,
    description,
    json: 'Prints JSON Lines.',
    examples,
  }).onData(async (data, flags: JsonFlag) => output.table(flags, { ...table, rows: await rowsOf(data) }));
