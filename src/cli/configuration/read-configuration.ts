// Reads the configuration: defaults, settings stored in the data directory, a file, DESKBELL_* variables and flags.
// Later sources override earlier ones. Unknown settings and invalid values are errors that list what is valid.
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { allowGroupAccess, writePrivateFile } from '../../keys/private-file.ts';
import { isJsonObject } from '../../protocol/json-object.ts';
import { readTextFile } from '../input/read-input.ts';
import { isLocal, parsePublicUrl } from './addresses.ts';
import {
  type Configuration,
  flagOf,
  type SettingName,
  settingNames,
  settings,
  variableOf,
} from './configuration.ts';
import type { Setting } from './setting.ts';

export interface ConfigurationSources {
  /** Flag values by setting name, as text; names that are not settings are ignored. */
  readonly flags: object;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** DESKBELL_* variables that are not settings. `deskbell/web-push` reads the last one. */
export const furtherVariables = ['DESKBELL_CONFIG', 'DESKBELL_DEBUG', 'DESKBELL_WEB_PUSH_TRANSPORT'];

/**
 * Reads the configuration. If `groupAccess` is set, also gives the group access to the data directory.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION for an unknown entry or variable, a value that is not valid, or a file
 *   that is not a JSON object; ERR_FILE for a file that cannot be read
 */
export async function readConfiguration(sources: ConfigurationSources): Promise<Configuration> {
  const { environment } = sources;
  const flags: Readonly<Record<string, unknown>> = { ...sources.flags };
  const given: Record<string, unknown> = {};
  const file = flags['config'] ?? environment['DESKBELL_CONFIG'];
  if (typeof file === 'string') Object.assign(given, await readConfigurationFile(file));
  Object.assign(given, readEnvironment(environment));
  for (const name of settingNames) {
    if (flags[name] !== undefined) given[name] = readSetting(name, flags[name], flagOf(name));
  }
  const defaults = Object.fromEntries(settingNames.map((name) => [name, settings[name].default]));
  const { data, groupAccess } = { ...defaults, ...given } as unknown as Configuration;
  if (groupAccess) allowGroupAccess(data);
  return { ...defaults, ...(await readStoredSettings(data)), ...given } as unknown as Configuration;
}

/** Reads the stored settings, if there are any. Problems with the directory are reported when it is opened. */
async function readStoredSettings(directory: string): Promise<Record<string, unknown>> {
  const path = storedSettingsPath(directory);
  return existsSync(path) ? readConfigurationFile(path) : {};
}

async function readConfigurationFile(path: string): Promise<Record<string, unknown>> {
  const entries = parseObject(path, await readFileText(path));
  const values: Record<string, unknown> = {};
  for (const [name, input] of Object.entries(entries)) {
    if (!isSettingName(name)) {
      throw new DeskbellError(
        'ERR_CONFIGURATION',
        `${path} has an unknown entry "${name}"; valid entries are ${settingNames.join(', ')}`,
      );
    }
    const value = readSetting(name, input, `"${name}" in ${path}`);
    const { isPath, literals = [] }: Setting<unknown> = settings[name];
    values[name] = isPath && !literals.includes(value as string) ? resolveFrom(dirname(path), value) : value;
  }
  return values;
}

const readFileText = (path: string): Promise<string> => readTextFile(path, `The configuration file ${path}`);

function parseObject(path: string, content: string): object {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (cause) {
    // The parser's message quotes the file, which may hold passwords.
    const [fault] = (cause as Error).message.split(/,? (?:\.\.\.)?"/, 1);
    throw new DeskbellError('ERR_CONFIGURATION', `${path} is not well-formed JSON: ${fault}`);
  }
  if (!isJsonObject(value)) {
    throw new DeskbellError('ERR_CONFIGURATION', `${path} must contain one JSON object with the entries`);
  }
  return value;
}

function readEnvironment(environment: ConfigurationSources['environment']): Record<string, unknown> {
  const nameOf = new Map(settingNames.map((name) => [variableOf(name), name]));
  const values: Record<string, unknown> = {};
  for (const [variable, input] of Object.entries(environment)) {
    if (!variable.startsWith('DESKBELL_') || furtherVariables.includes(variable)) continue;
    if (isServiceLink(variable, environment)) continue;
    const name = nameOf.get(variable);
    if (!name) {
      throw new DeskbellError(
        'ERR_CONFIGURATION',
        `The environment has an unknown variable ${variable}; valid ones are ` +
          [...nameOf.keys(), ...furtherVariables].join(', '),
      );
    }
    values[name] = readSetting(name, input, variable);
  }
  return values;
}

/**
 * Whether Kubernetes set this variable, such as `DESKBELL_PORT=tcp://10.0.0.11:80`. Every container gets variables for
 * each Service in its namespace. If a Service is called `deskbell` or `deskbell-…`, its variables look like settings.
 */
function isServiceLink(variable: string, environment: ConfigurationSources['environment']): boolean {
  return Object.keys(environment).some((host) => {
    const [, service] = /^(DESKBELL\w*)_SERVICE_HOST$/.exec(host) ?? [];
    if (service === undefined || !variable.startsWith(`${service}_`)) return false;
    // the setting `port` uses the variable `DESKBELL_PORT` too, but as a plain number
    if (variable === `${service}_PORT`) return /^(?:tcp|udp|sctp):/.test(environment[variable] ?? '');
    return serviceLinkForm.test(variable.slice(service.length));
  });
}

const serviceLinkForm =
  /^_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/;

function readSetting(name: SettingName, input: unknown, where: string): unknown {
  const setting: Setting<unknown> = settings[name];
  const shown = setting.isSecret
    ? `${where} is not valid`
    : `${where} is ${JSON.stringify(input)}, which is not valid`;
  let value: unknown;
  try {
    value = setting.read(input);
  } catch (cause) {
    throw new DeskbellError('ERR_CONFIGURATION', `${shown}: ${(cause as Error).message}`, { cause });
  }
  if (value !== undefined) return value;
  throw new DeskbellError('ERR_CONFIGURATION', `${shown}: it must be ${setting.valid}`);
}

function resolveFrom(folder: string, value: unknown): unknown {
  return Array.isArray(value)
    ? value.map((path: string) => resolve(folder, path))
    : resolve(folder, value as string);
}

const isSettingName = (name: string): name is SettingName => Object.hasOwn(settings, name);

// Settings stored in the data directory, so that other commands need not repeat them. Flags, environment variables and
// the configuration file override them.

const storedSettings = [
  'publicUrl',
  'bellsUrl',
  'subject',
  'pushServices',
] as const satisfies readonly SettingName[];

export const storedSettingsPath = (directory: string): string => join(directory, 'settings.json');

/**
 * Stores the given settings.
 *
 * @param options `replace`: overwrite stored values. Without `replace`, stored values are kept
 * @throws {DeskbellError} ERR_FILE, ERR_CONFIGURATION, ERR_DATA_EXPOSED, ERR_DATA_OWNER
 */
export async function storeSettings(
  configuration: Pick<Configuration, 'data'> & Partial<Pick<Configuration, (typeof storedSettings)[number]>>,
  { replace }: { readonly replace: boolean },
): Promise<void> {
  const entries = storedSettings.flatMap((name) => {
    const value = configuration[name];
    return value === undefined || value.length === 0 ? [] : [[name, value] as const];
  });
  const path = storedSettingsPath(configuration.data);
  const stored = existsSync(path) ? await readFileText(path) : undefined;
  const former = replace || stored === undefined ? {} : parseObject(path, stored);
  const text = `${JSON.stringify({ ...Object.fromEntries(entries), ...former }, undefined, 2)}\n`;
  if (text === stored || (entries.length === 0 && stored === undefined)) return;
  await writePrivateFile(path, text, { replace: true });
}

// Defaults from the public URL: the contact for push services, and the title of messages without a title.

/** Returns the configured subject, or else the origin of the public URL if push services could open that URL. */
export function contactOf({
  subject,
  publicUrl,
}: Pick<Configuration, 'subject' | 'publicUrl'>): string | undefined {
  if (subject !== undefined || publicUrl === undefined) return subject;
  const url = parsePublicUrl(publicUrl);
  return url.protocol === 'https:' && !isLocal(url) ? url.origin : undefined;
}

/** The host of the public URL, or the name of this machine. */
export const hostTitle = ({ publicUrl }: Pick<Configuration, 'publicUrl'>): string =>
  publicUrl === undefined ? hostname() : parsePublicUrl(publicUrl).host;
