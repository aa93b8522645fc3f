// The URL of a PostgreSQL database, as libpq reads it: checked, taken apart into one URL for each of its hosts, and named
// without its password.
import { decodePercent } from '../../errors/decode-percent.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';

const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'];
/** libpq has others, which would choose a standby. */
const sessionAttributes = ['read-write', 'primary'];

/** @throws {DeskbellError} ERR_CONFIGURATION; the message does not quote the text, which may hold a password */
export function checkDatabaseUrl(text: string): void {
  const urls = splitHosts(text);
  if (urls === undefined) {
    throw new DeskbellError(
      'ERR_CONFIGURATION',
      'it must be a URL such as postgres://user:password@host:5432/database, with several hosts separated by commas',
    );
  }
  const { pathname, searchParams } = urls[0];
  if (decodePercent(pathname) === undefined) {
    throw new DeskbellError(
      'ERR_CONFIGURATION',
      'the name of its database has a "%" that is not part of an escape; write it as %25',
    );
  }
  checkParameter('sslmode', searchParams.get('sslmode'), sslModes);
  checkParameter('target_session_attrs', searchParams.get('target_session_attrs'), sessionAttributes);
}

function checkParameter(name: string, value: string | null, values: readonly string[]): void {
  if (value === null || values.includes(value)) return;
  throw new DeskbellError(
    'ERR_CONFIGURATION',
    `its ${name} is "${value}"; it must be one of ${values.join(', ')}`,
  );
}

/**
 * One URL for each host of `postgres://user:password@first:5432,second:5433/database`, in their order.
 *
 * @param text that `checkDatabaseUrl` has checked
 */
export function urlsOfHosts(text: string): readonly [URL, ...URL[]] {
  const urls = splitHosts(text);
  if (urls === undefined) throw new Error('The URL of the database has not been checked.');
  return urls;
}

// RFC 3986 has one host in a URL; libpq and JDBC have several, separated by commas
const parts = /^(?<start>postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)(?<hosts>[^/?#]*)(?<end>.*)$/s;

function splitHosts(text: string): readonly [URL, ...URL[]] | undefined {
  const { start, hosts, end } = parts.exec(text)?.groups ?? {};
  if (start === undefined || hosts === undefined || end === undefined) return undefined;
  const urls = hosts.split(',').map((host) => URL.parse(`${start}${host}${end}`));
  const [first, ...others] = urls.filter((url) => url !== null);
  return first === undefined || others.length + 1 < urls.length ? undefined : [first, ...others];
}

/** The place of a database for messages: without user and password. */
export function describeDatabase(text: string): string {
  const urls = splitHosts(text);
  if (urls === undefined) return 'of this URL';
  const [{ searchParams, pathname }] = urls;
  const hosts = urls.map(({ host }) => host || searchParams.get('host') || 'localhost');
  return `${hosts.join(',')}${pathname}`;
}
