// HOST:PORT, as a listener of its own is given in the configuration.
import { DeskbellError } from '../../errors/deskbell-error.ts';

export interface ListenAddress {
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
}

/** @throws {DeskbellError} ERR_CONFIGURATION */
export function parseListenAddress(text: string): ListenAddress {
  const [, bracketed, plain, digits = ''] = /^(?:\[([\da-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host !== undefined && port <= 65_535) return { host, port };
  throw new DeskbellError('ERR_CONFIGURATION', 'it must be HOST:PORT, such as 127.0.0.1:8081 or [::1]:8081');
}
