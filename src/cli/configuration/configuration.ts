// The configuration schema: each setting once, in its group, with its default and description. Flags, environment
// variables, docs/configuration.md and the checks of configuration files are made from this table.
import { availableParallelism } from 'node:os';
import { encryptionMethods } from '../../accelerator/encryption-methods.ts';
import { loggedMessages } from '../../delivery/reports/message-log.ts';
import { pathPrefix } from '../../errors/check-options.ts';
import { parseMaxRates } from '../../delivery/settings/settings.ts';
import { parseWebhookUrl } from '../../operator/webhook/webhook-target.ts';
import { createEndpointPolicy, defaultMaxPushServices } from '../../protocol/endpoint-policy.ts';
import { defaultReceiptsPerMinute, defaultRegistrationsPerMinute } from '../../http/client-limits.ts';
import { checkVapidSubject } from '../../protocol/vapid.ts';
import {
  checkAddressRanges,
  checkHosts,
  parseListenAddress,
  parseBellsUrl,
  parsePublicUrl,
} from './addresses.ts';
import { defaultBellsPerMinute } from '../../store/bells.ts';
import { defaultRetention } from '../../store/retention.ts';
import { checkDatabaseUrl } from '../../store/postgres/database-url.ts';
import { readAddressSettings } from '../../transport/address-settings.ts';
import { defaultTimeouts } from '../../transport/check-options.ts';
import {
  boolean,
  days,
  integer,
  list,
  enumList,
  oneOf,
  orLiteral,
  path,
  requestsPerMinute,
  text,
  timeout,
  type Setting,
} from './setting.ts';

type Entries = Record<string, Setting<unknown>>;

const data = {
  data: path({
    description:
      'Directory of the database and the key files. Only the owner of the directory can read it. serve, keys generate ' +
      'and operators add create it.',
    default: 'deskbell-data',
  }),
  database: text({
    description:
      'URL of a PostgreSQL database to use instead of SQLite. If the URL has a password, set it in the environment, ' +
      'or in a configuration file that others cannot read. Key files stay in the data directory.',
    valid: 'a URL such as postgres://user:password@host:5432/database?sslmode=verify-full',
    isSecret: true,
    check: checkDatabaseUrl,
  }),
  groupAccess: boolean({
    description:
      'Accepts a data directory that its group can use too. You need this with Kubernetes’ fsGroup, which gives the ' +
      'group these rights at each start of a pod.',
  }),
} satisfies Entries;

const limits = {
  maxSubscriptions: integer({
    description:
      'Maximum number of stored subscriptions. Further registrations get a 503; stored subscriptions can still be ' +
      'updated.',
    defaultLabel: 'no limit',
    unit: 'subscriptions',
    min: 1,
    max: 1_000_000_000,
  }),
} satisfies Entries;

const retention = {
  keepBroadcastsDays: days({
    description: 'How long broadcasts are kept after their end, with their counts, alarms and receipts.',
    default: defaultRetention.broadcasts,
  }),
  keepAttemptsDays: days({
    description: 'How long attempts are kept after the end of their broadcast.',
    default: defaultRetention.attempts,
  }),
  keepAuditDays: days({
    description: 'How long audit records of operators are kept.',
    default: defaultRetention.audit,
  }),
} satisfies Entries;

const listener = {
  host: text({
    description: 'Address to listen on.',
    default: '127.0.0.1',
    valid: 'a host name or an IP address',
  }),
  port: integer({
    description: 'Port to listen on; 0 lets the system choose a free one.',
    default: 8080,
    min: 0,
    max: 65535,
  }),
  publicUrl: text({
    description:
      'URL at which browsers reach the service, including any path, such as the URL of a proxy. Links from "deskbell ' +
      'invite" begin with this URL. serve stores it in the data directory.',
    valid: 'an https URL, or an http URL of this machine',
    check: parsePublicUrl,
  }),
} satisfies Entries;

/** Options of the service. Most have the same name in `ServiceOptions`. */
const service = {
  prefix: text({
    description: 'Path under which the whole service is served, such as "/push".',
    default: '',
    defaultLabel: 'none',
    valid: 'a path that starts with "/" and does not end with "/"',
    pattern: pathPrefix,
  }),
  pushOnly: boolean({
    description:
      'Serves only /vapidKey, /webPush, health, the client’s files and their description. Use this in production. ' +
      'Otherwise, the service also has the demonstration’s endpoints.',
  }),
  authenticate: orLiteral(
    'all',
    orLiteral(
      'none',
      enumList({
        description: 'Demonstration actions that require a session.',
        defaultLabel: 'all if authenticator logging is enabled, otherwise none',
        names: ['get', 'getWithArg', 'post'],
      }),
    ),
  ),
  trustProxy: list({
    description:
      'Proxies in front of the service and the operator’s listener. Deskbell trusts the header X-Forwarded-For or ' +
      'Forwarded of these proxies.',
    valid: 'addresses or ranges such as 127.0.0.1 or 10.0.0.0/8',
    check: checkAddressRanges,
  }),
  registrations: oneOf({
    description:
      'Whose subscriptions are stored. "open": everybody’s. "invited": only subscriptions of browsers that opened a ' +
      'link of "deskbell invite", ' +
      'have a subscriber token, or are registered already.',
    default: 'open',
    names: ['open', 'invited'],
  }),
  registrationsPerMinute: requestsPerMinute({
    description:
      'How many POST /webPush requests a client address may send to all services of one PostgreSQL database. The same ' +
      'limit applies to requests that change channels.',
    default: defaultRegistrationsPerMinute,
  }),
  maxPushServices: integer({
    description:
      'Maximum number of push services that are neither known nor listed, if pushServices has "public". Further ' +
      'registrations get a 503.',
    default: defaultMaxPushServices,
    unit: 'push services',
    min: 1,
    max: 1000,
  }),
  channels: boolean({
    description: 'Lets readers choose their channels: /webPush/channels, and the page /preferences.',
  }),
  receiptsPerMinute: requestsPerMinute({
    description: 'How many POST /webPush/receipts requests a client address may send.',
    default: defaultReceiptsPerMinute,
  }),
} satisfies Entries;

const subscriberTokens = {
  subscriberTokens: orLiteral(
    'HS256',
    orLiteral(
      'off',
      path({
        description:
          'How subscriber tokens are checked. HS256 uses the key in the data directory. A path means EdDSA with your ' +
          'public key in this file (Ed25519, PEM). With "off", the Authorization header is ignored.',
        default: 'off',
      }),
    ),
  ),
  subscriberTokenAudience: text({
    description: 'Audience that subscriber tokens must have ("aud").',
    default: 'deskbell',
    valid: 'text',
  }),
} satisfies Entries;

const log = {
  logging: enumList({
    description: 'Logging mechanisms to enable.',
    default: ['filter'],
    names: ['action', 'filter', 'authenticator', 'action-creator'],
  }),
  logFile: path({
    description:
      'File to append log records to, as JSON Lines, instead of standard output. SIGHUP reopens the file, for log ' +
      'rotation. Other users cannot read the file.',
  }),
  logMessages: oneOf({
    description:
      'Logs a line for each message that was not accepted, or for every message. A line has the IDs of broadcast and subscription, the push service, outcome, status and reason, but no part of the message.',
    default: 'off',
    names: ['off', ...loggedMessages],
  }),
  redactSubscriptions: boolean({
    description: 'Omits endpoint, p256dh and auth of new subscriptions from the log.',
  }),
} satisfies Entries;

const pushServices = {
  subject: text({
    description:
      'Contact URI for push services (VAPID subject, RFC 8292 §2.1). You need it to send. serve, or the first send, ' +
      'stores it in the data directory.',
    defaultLabel: 'the origin of publicUrl, if that is an https URL and not of this machine',
    valid: 'a mailto: or https: URI',
    check: checkVapidSubject,
  }),
  pushServices: list({
    description:
      'Other push services to accept, which may be local and use http. "public" accepts any public https host, with limits. ' +
      'The data directory stores this list; serve with an empty list removes it.',
    valid:
      'origins such as https://push.example.org, https://*.push.example.org or http://127.0.0.1:8090; or "public"',
    check: createEndpointPolicy,
  }),
  pushServiceAddresses: list({
    description:
      'Private addresses, for example of a proxy or VPN, at which Deskbell may reach known push services and those ' +
      'that pushServices lists by domain. You cannot combine them with "public".',
    valid: 'ranges such as 198.18.0.0/15; not of loopback or link-local addresses',
    check: (ranges) => readAddressSettings({ pushServiceAddresses: ranges }),
  }),
  nat64Prefix: text({
    description:
      'The network’s NAT64 prefix, in addition to 64:ff9b::/96. If an address has this prefix, Deskbell checks the ' +
      'IPv4 address that it contains.',
    valid: 'an IPv6 prefix such as 2001:db8:64::/96',
    check: (prefix) => readAddressSettings({ nat64Prefix: prefix }),
  }),
  ca: list({
    description:
      'Certificates (PEM files) of authorities to trust, in addition to the authorities that Node trusts.',
    valid: 'paths',
    isPath: true,
  }),
  maxRate: list({
    description:
      'Maximum rate of broadcast messages to a push service, from all threads and processes together. Give ' +
      'each process that delivers the same value.',
    defaultLabel: 'no limit',
    valid: 'limits such as fcm.googleapis.com=500/s (or /min, /h)',
    check: parseMaxRates,
  }),
  connectTimeoutMs: timeout({
    description: 'Time limit for connecting to a push service.',
    default: defaultTimeouts.connectTimeoutMs,
  }),
  responseTimeoutMs: timeout({
    description: 'Time limit for the response to one message.',
    default: defaultTimeouts.responseTimeoutMs,
  }),
} satisfies Entries;

const workers = {
  threads: integer({
    description: 'Threads that deliver broadcasts.',
    default: availableParallelism(),
    defaultLabel: 'one per core',
    min: 1,
    max: 256,
  }),
  encryption: oneOf({
    description:
      'Fastest method of encryption to use: the accelerator with eight messages at a time, the accelerator on OpenSSL, ' +
      'or Node’s builtins. If a method is not available, Deskbell uses the next method.',
    default: 'multi-buffer',
    names: encryptionMethods,
  }),
} satisfies Entries;

const delivery = {
  deliver: boolean({ description: 'Also delivers broadcasts, in separate threads.' }),
  ...workers,
  receipts: boolean({
    description:
      'Asks browsers to report whether a broadcast’s notification was shown, clicked or dismissed. Set it for the ' +
      'process that sends, and for the service, which receives the reports.',
  }),
} satisfies Entries;

const access = {
  operatorHosts: list({
    description:
      'Host names of the operator’s listener, in addition to its own address. The listener refuses requests to other ' +
      'hosts.',
    valid: 'hosts as browsers name them, such as ops.example.org or ops.example.org:8443',
    check: checkHosts,
  }),
  operatorCert: path({ description: 'Certificate chain (PEM) of the operator’s listener.' }),
  operatorKey: path({ description: 'Private key (PEM) of the certificate in operatorCert.' }),
  operatorBehindProxy: boolean({
    description: 'Declares that a proxy in front of the operator’s listener provides TLS.',
  }),
} satisfies Entries;

const operator = {
  operator: text({
    description:
      'Address of the operator’s listener, with the console and the API. Add its users with "deskbell operators add". ' +
      'Addresses other than loopback need TLS.',
    valid: 'HOST:PORT, such as 127.0.0.1:8081',
    check: parseListenAddress,
  }),
  ...access,
  bells: text({
    description:
      'Address of a separate listener for bells, at the root and under /ring. The operator’s listener serves bells ' +
      'only under /ring. Addresses other than loopback need TLS.',
    valid: 'HOST:PORT, such as 127.0.0.1:8082',
    check: parseListenAddress,
  }),
  bellsPerMinute: orLiteral(
    'off',
    integer({
      description:
        'Maximum number of notifications from one bell in a minute. One more notification gives the number of the ' +
        'other requests. "off" means no limit.',
      default: defaultBellsPerMinute,
      unit: 'notifications per minute',
      min: 1,
      max: 1_000_000,
    }),
  ),
  bellsUrl: text({
    description:
      'URL at which tools reach bells, including the path, such as the URL of a proxy. Addresses from "deskbell bells ' +
      'add" begin with this URL. serve stores it in the data directory.',
    defaultLabel: 'the operator’s listener, with the path /ring',
    valid: 'an https URL, or an http URL of this machine',
    check: parseBellsUrl,
  }),
  webhook: text({
    description:
      'URL to which events are posted, such as alarms or the end of a broadcast. The process with the operator’s ' +
      'listener posts and signs them, with the secret from "deskbell webhook-secret".',
    valid: 'an https URL, or an http URL of an IP address or localhost',
    isSecret: true,
    check: parseWebhookUrl,
  }),
  metrics: text({
    description:
      'Address where a worker serves /metrics, for operators with the role metrics. Addresses other than loopback ' +
      'need TLS. You need the package @prometheus-io/client.',
    valid: 'HOST:PORT, such as 127.0.0.1:9464',
    check: parseListenAddress,
  }),
} satisfies Entries;

const groups = {
  Data: { ...data, ...limits, ...retention },
  Service: { ...listener, ...service },
  'Subscriber tokens': subscriberTokens,
  Log: log,
  'Push services': pushServices,
  Delivery: delivery,
  'Operator’s listener': operator,
};

export const settings = {
  ...groups.Data,
  ...groups.Service,
  ...groups['Subscriber tokens'],
  ...groups.Log,
  ...groups['Push services'],
  ...groups.Delivery,
  ...groups['Operator’s listener'],
};

export type SettingName = keyof typeof settings;

type ValueOf<Entry> = Entry extends Setting<infer Value> ? Value : never;

export type Configuration = { readonly [Name in SettingName]: ValueOf<(typeof settings)[Name]> };

/** The groups in the help of commands and in docs/configuration.md. */
export const settingGroups = Object.entries(groups).map(([heading, entries]) => ({
  heading,
  names: Object.keys(entries) as SettingName[],
}));

const namesOf = <Name extends SettingName>(entries: Readonly<Record<Name, unknown>>): readonly Name[] =>
  Object.keys(entries) as Name[];

/** In the order in which the help and docs/configuration.md list the settings. */
export const settingNames = namesOf(settings);
export const dataSettings = namesOf(data);
export const retentionSettings = namesOf(retention);
export const serviceSettings = namesOf(service);
export const subscriberTokenSettings = namesOf(subscriberTokens);
/** Settings of every command that delivers. */
export const senderSettings = namesOf({ ...pushServices, ...workers, logMessages: log.logMessages });
/** Settings for access to the operator's listener or the metrics listener. */
export const accessSettings = namesOf(access);

export const pick = <Name extends SettingName>(
  configuration: Pick<Configuration, Name>,
  names: readonly Name[],
): Pick<Configuration, Name> =>
  Object.fromEntries(names.map((name) => [name, configuration[name]])) as Pick<Configuration, Name>;

/** Names the flag of a setting: `pushServices` → `--push-services`. */
export const flagOf = (name: string): string =>
  `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Names the environment variable of a setting: `pushServices` → `DESKBELL_PUSH_SERVICES`. */
export const variableOf = (name: SettingName): string =>
  `DESKBELL_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
