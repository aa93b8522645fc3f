// `deskbell healthcheck`, for containers: checks the process with PID 1. It uses the configuration of that process, so
// the image need not repeat a port or prefix.
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import type { Command } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { type Context, createCommand } from '../command.ts';
import {
  type Configuration,
  flagOf,
  type SettingName,
  settingNames,
  settings,
} from '../configuration/configuration.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import { withExistingData } from '../data/open-data.ts';
import { addressOf } from '../serve/listening.ts';

const timeoutMs = 4000;

export function healthcheckCommand({ environment, output }: Context): Command {
  const description = {
    name: 'healthcheck',
    description:
      'Checks whether "deskbell serve" or "deskbell worker" is healthy in this container. For a service, the ' +
      'command requests /readyz at the port and prefix of the process. For a worker, the command checks that the ' +
      'worker has reported to the database in the last 20 seconds. The exit code is 1 if the service is not ready ' +
      'or the worker has not reported.',
    examples: ['deskbell healthcheck', 'deskbell healthcheck --pid 4711'],
  };
  return createCommand(description)
    .option('--pid <number>', 'The process to check.', '1')
    .action(async ({ pid }: { readonly pid: string }) => {
      const { command, flags } = await readCommandLine(pid);
      const configuration = await readConfiguration({ flags, environment });
      if (command === 'worker') await checkWorker(configuration, Number(pid));
      else await checkService(configuration);
      await output.line(`The ${command === 'serve' ? 'service' : 'worker'} works.`);
    });
}

/** Reads the process's arguments from /proc. A zero byte follows each argument. */
async function readCommandLine(
  pid: string,
): Promise<{ readonly command: 'serve' | 'worker'; readonly flags: object }> {
  const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const words = text.split('\0').slice(0, -1);
  const command = words.find((word) => word === 'serve' || word === 'worker');
  if (command === undefined) {
    throw new DeskbellError(
      'ERR_NOT_READY',
      `The process ${pid} is neither "deskbell serve" nor "deskbell worker"`,
    );
  }
  const names = [...settingNames, 'config'];
  const { values } = parseArgs({
    args: words.slice(words.indexOf(command) + 1),
    options: Object.fromEntries(names.map((name) => [optionName(name), { type: typeOf(name) }])),
    strict: false,
  });
  const flags = names.map((name) => [name, values[optionName(name)]] as const);
  return { command, flags: Object.fromEntries(flags.filter(([, value]) => value !== undefined)) };
}

const optionName = (name: string): string => flagOf(name).slice('--'.length);

/** Settings that are false by default are flags without a value. */
const typeOf = (name: string): 'boolean' | 'string' =>
  Object.hasOwn(settings, name) && settings[name as SettingName].default === false ? 'boolean' : 'string';

/** @throws {DeskbellError} ERR_NOT_READY */
async function checkService({ host, port, prefix }: Configuration): Promise<void> {
  const reached = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  const url = `${addressOf(reached, port)}${prefix}/readyz`;
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) }).catch((cause: Error) => {
    throw new DeskbellError('ERR_NOT_READY', `${url} does not answer`, { cause });
  });
  if (!response.ok) throw new DeskbellError('ERR_NOT_READY', `${url} answers ${response.status}`);
}

/** @throws {DeskbellError} ERR_NOT_READY */
async function checkWorker(configuration: Configuration, pid: number): Promise<void> {
  const senders = await withExistingData(configuration, ({ store }) => store.senders.list());
  const isSeen = senders.some(
    ({ kind, machine, processId }) => kind === 'worker' && machine === hostname() && processId === pid,
  );
  if (!isSeen) throw new DeskbellError('ERR_NOT_READY', 'The worker has not reported for 20 seconds');
}
