// Which paths and header fields may be written: text that could end a line or a request early must never reach the wire.
import { DeskbellError } from '../errors/deskbell-error.ts';
import type { PushHeaders, PushRequest } from './transport.ts';

/** Header objects that passed the check; many messages share one. */
const legalHeaders = new WeakSet<PushHeaders>();
/** Fields that HTTP itself writes (RFC 9113 §8.2.2, and the length), and those that the transport leaves out. */
const ownFields =
  /^(?:host|content-length|connection|keep-alive|proxy-connection|transfer-encoding|upgrade|te|expect|trailer)$/;

/** @returns what is wrong with a request */
export function checkRequest({ path, headers }: PushRequest): DeskbellError | undefined {
  if (!/^\/[\x21-\x7e]*$/.test(path)) {
    return new DeskbellError(
      'ERR_ENDPOINT_INVALID',
      'The path holds white space or characters to be escaped.',
    );
  }
  return checkHeaders(headers);
}

/** @returns what is wrong with header fields */
export function checkHeaders(headers: PushHeaders): DeskbellError | undefined {
  if (legalHeaders.has(headers)) return undefined;
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(name) || ownFields.test(name) || !/^[\x20-\x7e]*$/.test(value)) {
      return new DeskbellError(
        'ERR_MESSAGE_INVALID',
        `The header field ${JSON.stringify(name)} is not legal.`,
      );
    }
  }
  legalHeaders.add(headers);
  return undefined;
}
