// The URL of a PostgreSQL database, as libpq reads it: checked, and named without its password.
import { DeskbellError } from '../../errors/deskbell-error.ts';

const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'];

/** @throws {DeskbellError} ERR_CONFIGURATION; the message does not quote the text, which may hold a password */
export function checkDatabaseUrl(text: string): void {
  const url = URL.parse(text);
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw new DeskbellError(
      'ERR_CONFIGURATION',
      'it must be a URL such as postgres://user:password@host:5432/database',
    );
  }
  const sslMode = url.searchParams.get('sslmode');
  if (sslMode === null || sslModes.includes(sslMode)) return;
  throw new DeskbellError(
    'ERR_CONFIGURATION',
    `its sslmode is "${sslMode}"; it must be one of ${sslModes.join(', ')}`,
  );
}

/** The place of a database for messages: without user and password. */
export function describeDatabase(text: string): string {
  const url = URL.parse(text);
  if (url === null) return 'of this URL';
  return `${url.host || url.searchParams.get('host') || 'localhost'}${url.pathname}`;
}
