// Turns errors of PostgreSQL and of the network into errors of Deskbell, and tells which of them are temporary.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { DiskFullError } from '../database-content.ts';

/** @returns the five characters of SQLSTATE, or the name of a system error such as ECONNREFUSED */
export function codeOf(error: unknown): string | undefined {
  return Error.isError(error) && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const passing = new Set([
  '25006', // the server has become a standby
  '40001',
  '40P01',
  '53300', // too many connections
  '55P03', // a lock was not available
  '57P01', // the server is shutting down
  '57P02',
  '57P03', // the server is starting up
]);
const networkErrors = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ENOENT', // the server's Unix socket is missing
  'ENETUNREACH',
  'EHOSTUNREACH',
]);

/**
 * All errors of PgBouncer itself have this code. The error is temporary if PgBouncer has lost its server or waits for
 * it.
 */
const protocolViolation = '08P01';
const isRefusalByServer = /unsupported startup parameter|no such (database|user)|password|auth|not allowed/i;

/** Errors to which `pg` gives no code. */
const isWithoutTls = /^The server does not support SSL connections/;
const isWithoutPassword = /client password must be a/;
/** The server's error if its pg_hba.conf does not allow the connection. Before version 14 it ends with "SSL off". */
const isRefusedWithoutTls = /pg_hba\.conf.*(no encryption|SSL off)$/;
const tlsCodes = /CERT|^UNABLE_TO_|^ERR_(TLS|SSL)_/;

/** True if the same call may succeed in a moment, perhaps on another server. */
export function isPassing(error: unknown): boolean {
  const code = codeOf(error);
  if (code === protocolViolation) return !isRefusalByServer.test((error as Error).message);
  if (code !== undefined) return passing.has(code) || networkErrors.has(code) || code.startsWith('08');
  return (
    Error.isError(error) &&
    /^(Connection terminated|timeout (expired|exceeded)|Client has)/i.test(error.message)
  );
}

/** Converts an error of PostgreSQL or the network to Deskbell's. Returns other errors unchanged. */
export function toStoreError(error: unknown, label: string): unknown {
  const code = codeOf(error);
  if (error instanceof DeskbellError || !Error.isError(error)) return error;
  const isNamed =
    isWithoutTls.test(error.message) ||
    isWithoutPassword.test(error.message) ||
    error.message.startsWith('Query read timeout');
  if (code === undefined && !isPassing(error) && !isNamed) return error;
  const cause = withoutValues(error, code);
  const unavailable = (detail: string) =>
    new DeskbellError('ERR_STORE_UNAVAILABLE', `The database ${label} ${detail}.`, { cause });
  if (isWithoutTls.test(error.message)) return unavailable('does not support TLS, which sslmode requires');
  if (isWithoutPassword.test(error.message))
    return unavailable(
      'asks for a password, and its URL has none: write postgres://user:password@host/database',
    );
  if (code === undefined) return unavailable('does not answer, or has ended the connection');
  if (networkErrors.has(code) || code === 'ENOTFOUND')
    return unavailable(`cannot be reached (${code}): check its address, and whether it runs`);
  if (tlsCodes.test(code)) {
    return unavailable(
      `shows a certificate that is not trusted (${code}): check its host name, its sslmode and its sslrootcert`,
    );
  }
  switch (code.slice(0, 2)) {
    case '22':
    case '23':
      return new DeskbellError('ERR_FIELD_VALUE', `The row was not stored: ${describe(error)}.`, { cause });
    case 'XX':
      return new DeskbellError('ERR_STORE_CORRUPT', `The database ${label} is damaged (${code}).`, { cause });
    case '28':
      if (isRefusedWithoutTls.test(error.message)) {
        return unavailable(
          `refuses a connection without TLS (${code}): add sslmode=verify-full to its URL, or check the server's pg_hba.conf`,
        );
      }
      return unavailable(`refuses the user or password (${code})`);
    default:
  }
  switch (code) {
    case '25006':
      return unavailable('is read-only: it is a standby, or set so');
    case '3D000':
      return unavailable('does not exist; create it with "createdb"');
    case '42501':
      return unavailable(`gives its user too few rights (${error.message})`);
    case '42883':
    case '42P01':
    case '3F000':
      return unavailable(`has lost tables or functions of Deskbell (${error.message})`);
    case '53100':
      return new DiskFullError(label, cause);
    case '57014':
      return unavailable('took too long for one statement, which was cancelled');
    default:
      return unavailable(`failed (${code}: ${error.message})`);
  }
}

/** Names the constraint, because PostgreSQL's own message quotes values, which may be secrets. */
function describe(error: Error): string {
  if ('constraint' in error && typeof error.constraint === 'string')
    return `it violates "${error.constraint}"`;
  return `a value is not valid (${codeOf(error)})`;
}

/** Removes values from an error: its details quote whole rows, and its parameters are keys and endpoints. */
function withoutValues(error: Error, code: string | undefined): Error {
  const isOfValues = code?.startsWith('22') || code?.startsWith('23');
  const message = isOfValues ? describe(error) : error.message;
  return Object.assign(new Error(message), code !== undefined && { code });
}
