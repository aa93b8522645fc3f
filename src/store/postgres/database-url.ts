// Checks the URL of a PostgreSQL database as libpq reads it, splits it into one URL per host, and describes it
// without the password.
import { decodePercent } from '../../errors/untrusted-text.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';

const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'];
const channelBindings = ['disable', 'prefer', 'require'];
/** The allowed values of `target_session_attrs`. With libpq's other values, the connection could be to a standby. */
const sessionAttributes = ['read-write', 'primary'];

/** The parameters that `pg` or this file reads. Others are refused; otherwise, they would be silently ignored. */
const parameters: ReadonlySet<string> = new Set([
  'application_name',
  'channel_binding',
  'client_encoding',
  'connect_timeout',
  'fallback_application_name',
  'host',
  'idle_in_transaction_session_timeout',
  'lock_timeout',
  'options',
  'password',
  'port',
  'ssl',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslnegotiation',
  'sslrootcert',
  'statement_timeout',
  'target_session_attrs',
  'uselibpqcompat',
  'user',
]);

/** @throws {DeskbellError} ERR_CONFIGURATION; the message quotes no text that could be part of a password */
export function checkDatabaseUrl(text: string): void {
  const urls = splitHosts(text);
  if (urls === undefined) {
    throw wrongUrl(
      'it must be a URL such as postgres://user:password@host:5432/database, with several hosts separated by commas; in user ' +
        'and password, write @ as %40, / as %2F, ? as %3F, # as %23 and : as %3A',
    );
  }
  const { pathname, searchParams } = urls[0];
  if (decodePercent(pathname) === undefined) {
    throw wrongUrl('the name of its database has a "%" that is not part of an escape; write it as %25');
  }
  for (const name of searchParams.keys()) {
    if (parameters.has(name)) continue;
    const known = [...parameters].join(', ');
    throw wrongUrl(`its parameter "${name.slice(0, 40)}" is not supported; leave it out. There are ${known}`);
  }
  checkParameter('sslmode', searchParams.get('sslmode'), sslModes);
  checkParameter('channel_binding', searchParams.get('channel_binding'), channelBindings);
  checkParameter('target_session_attrs', searchParams.get('target_session_attrs'), sessionAttributes);
  const seconds = searchParams.get('connect_timeout');
  if (seconds !== null && !/^[1-9]\d{0,3}$/.test(seconds)) {
    throw wrongUrl(`its connect_timeout is "${seconds}"; it must be a number of seconds from 1 to 9999`);
  }
}

const wrongUrl = (message: string): DeskbellError => new DeskbellError('ERR_CONFIGURATION', message);

function checkParameter(name: string, value: string | null, values: readonly string[]): void {
  if (value === null || values.includes(value)) return;
  throw wrongUrl(`its ${name} is "${value}"; it must be one of ${values.join(', ')}`);
}

/**
 * Splits `postgres://user:password@first:5432,second:5433/database` into one URL per host, in the same order. The
 * directory of a socket is a percent-encoded host, as in `pg`.
 *
 * @param text must have passed `checkDatabaseUrl`
 */
export function urlsOfHosts(text: string): readonly [URL, ...URL[]] {
  const urls = splitHosts(text);
  if (urls === undefined) throw new Error('The URL of the database has not been checked.');
  return urls;
}

// RFC 3986 allows one host; libpq and JDBC allow several, separated by commas. Only the first part may have an "@".
// If a password contains an unescaped "@", "/", "?" or "#", the rest of it would otherwise be taken for a host, a
// database or a parameter.
const parts =
  /^postgres(?:ql)?:\/\/(?:(?<user>[^@/?#]*)@)?(?<hosts>[^@/?#]*)(?<path>\/[^@?#]*)?(?:\?(?<query>[^@#]*))?$/;
/** `socket:/run/postgresql?db=deskbell`, as in `pg`. */
const socketParts = /^socket:(?:\/\/(?:(?<user>[^@/?#]*)@)?)?(?<directory>\/[^@?#]*)(?:\?(?<query>[^@#]*))?$/;

function splitHosts(text: string): readonly [URL, ...URL[]] | undefined {
  const found = (parts.exec(text) ?? socketParts.exec(text))?.groups;
  if (found === undefined) return undefined;
  const { user, hosts = '', path = '', directory } = found;
  const query = new URLSearchParams(found['query']);
  const take = (name: string): string | undefined => {
    const value = query.get(name) ?? undefined;
    query.delete(name);
    return value;
  };
  const database = directory === undefined ? path : `/${encodeURIComponent(take('db') ?? '')}`;
  const encoding = directory === undefined ? undefined : take('encoding');
  if (encoding !== undefined) query.set('client_encoding', encoding);
  const socket = directory && decodePercent(directory.replace(/(?<=.)\/+$/, ''));
  const host = hosts === '' ? (socket ?? take('host')) : undefined;
  const port = host === undefined ? undefined : take('port');
  // a URL with user and password must have a host
  if (user && hosts === '' && host === undefined) {
    const [name = '', ...rest] = user.split(':');
    query.set('user', decodePercent(name) ?? name);
    if (rest.length > 0) query.set('password', decodePercent(rest.join(':')) ?? rest.join(':'));
  }
  const toUrl = (place: string): URL | null => {
    const start = user && place !== '' ? `${user}@` : '';
    return URL.parse(`postgres://${start}${place}${database}${query.size > 0 ? `?${query}` : ''}`);
  };
  const places =
    host === undefined
      ? hosts.split(',')
      : host.split(',').map((each) => encodeURIComponent(each) + (port === undefined ? '' : `:${port}`));
  const urls = places.map(toUrl).filter((url) => url !== null);
  const [first, ...others] = urls;
  return first === undefined || urls.length < places.length ? undefined : [first, ...others];
}

/** Describes a database for error messages, without user and password. */
export function describeDatabase(text: string): string {
  const urls = splitHosts(text);
  if (urls === undefined) return 'of this URL';
  const [{ pathname }] = urls;
  const hosts = urls.map(({ host }) => decodePercent(host) || 'localhost');
  return `${hosts.join(',')}${pathname}`;
}
