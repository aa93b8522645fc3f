// The configuration schema: every entry once, with its default and one sentence. Flags, environment variables,
// docs/configuration.md and the checks of a configuration file all come from this table.
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { createEndpointPolicy } from '../protocol/endpoint-policy.ts';
import { checkVapidSubject } from '../protocol/vapid.ts';
import { boolean, integer, list, namesAmong, orWord, text, type Setting } from './setting.ts';

export const settings = {
  data: text({
    sentence: 'Folder of the database and the key files; made at the first run, readable by its owner only.',
    default: 'deskbell-data',
    valid: 'a path',
    isPath: true,
  }),
  host: text({
    sentence: 'Address to listen on.',
    default: '127.0.0.1',
    valid: 'a host name or an IP address',
  }),
  port: integer({
    sentence: 'Port to listen on; 0 lets the system pick a free one.',
    default: 8080,
    min: 0,
    max: 65535,
  }),
  prefix: text({
    sentence: 'Path under which everything is served, such as "/push".',
    default: '',
    defaultInWords: 'none',
    valid: 'a path that begins with "/" and does not end with one',
    pattern: /^(\/[\w.~-]+)+$/,
  }),
  subject: text({
    sentence: 'How push services reach whoever sends (VAPID subject, RFC 8292 §2.1); needed for sending.',
    default: undefined,
    defaultInWords: 'none',
    valid: 'a mailto: or https: URI',
    check: checkVapidSubject,
  }),
  pushServices: list({
    sentence: 'Push services to admit beside the known ones; the ones named here may be local and use http.',
    default: [],
    defaultInWords: 'none',
    valid: 'origins such as https://push.example.org, https://*.push.example.org or http://127.0.0.1:8090',
    check: createEndpointPolicy,
  }),
  logging: namesAmong({
    sentence: 'The logging mechanisms to switch on.',
    default: ['filter'],
    names: ['action', 'filter', 'authenticator', 'action-creator'],
  }),
  authenticate: orWord(
    'all',
    orWord(
      'none',
      namesAmong({
        sentence: 'The demonstration actions that ask for a session.',
        default: undefined,
        defaultInWords: 'all where authenticator logging is on, else none',
        names: ['get', 'getWithArg', 'post'],
      }),
    ),
  ),
  redactSubscriptions: boolean({
    sentence: 'Leaves the three values of a new subscription out of the server console.',
    default: false,
  }),
  bodyLimitBytes: integer({
    sentence: 'Largest request body that is read.',
    default: 16_384,
    unit: 'bytes',
    min: 1024,
    max: 1_048_576,
  }),
  registrationsPerMinute: orWord(
    'off',
    integer({
      sentence: 'POST /webPush requests that one client address may make.',
      default: 60,
      unit: 'requests per minute',
      min: 1,
      max: 1_000_000,
    }),
  ),
  logFile: text({
    sentence: 'File that records are appended to as JSON lines, instead of standard output.',
    default: undefined,
    defaultInWords: 'none',
    valid: 'a path',
    isPath: true,
  }),
  trustProxy: list({
    sentence: 'Proxies in front of the service whose x-forwarded-for is believed.',
    default: [],
    defaultInWords: 'none',
    valid: 'addresses or ranges such as 127.0.0.1 or 10.0.0.0/8',
    check: checkAddressRanges,
  }),
  connectTimeoutMs: integer({
    sentence: 'How long a connection to a push service may take to stand.',
    default: 10_000,
    unit: 'milliseconds',
    min: 1,
    max: 600_000,
  }),
  responseTimeoutMs: integer({
    sentence: 'How long a push service may take to answer one message.',
    default: 30_000,
    unit: 'milliseconds',
    min: 1,
    max: 600_000,
  }),
  threads: integer({
    sentence: 'Threads that a broadcast is delivered with.',
    default: availableParallelism(),
    defaultInWords: 'one per core',
    min: 1,
    max: 256,
  }),
  deliver: boolean({
    sentence: 'Delivers broadcasts beside the service, in threads of their own.',
    default: false,
  }),
  ca: list({
    sentence: 'Files with certificates (PEM) of authorities to trust beside the system’s own.',
    default: [],
    defaultInWords: 'none',
    valid: 'paths',
    isPath: true,
  }),
} satisfies Record<string, Setting<unknown>>;

export type SettingName = keyof typeof settings;

type ValueOf<Entry> = Entry extends Setting<infer Value> ? Value : never;

/** The configuration as read: every entry has a value. */
export type Configuration = { readonly [Name in SettingName]: ValueOf<(typeof settings)[Name]> };

export const settingNames = Object.keys(settings) as readonly SettingName[];

/** `pushServices` → `--push-services` */
export const flagOf = (name: SettingName): string =>
  `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** `pushServices` → `DESKBELL_PUSH_SERVICES` */
export const variableOf = (name: SettingName): string =>
  `DESKBELL_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;

function checkAddressRanges(ranges: readonly string[]): void {
  for (const range of ranges) {
    const [address = '', bits = '0', ...rest] = range.split('/');
    const maxBits = { 4: 32, 6: 128 }[isIP(address)] ?? -1;
    if (/^\d{1,3}$/.test(bits) && Number(bits) <= maxBits && rest.length === 0) continue;
    throw new DeskbellError('ERR_CONFIGURATION', `${range} is neither an IP address nor a range of them`);
  }
}
