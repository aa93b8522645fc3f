// Where the webhook posts to. The operator names it, so an address that is written out in it, or localhost, is meant; but a name
// is only followed to public addresses, as that of a push service is.
import { isIP } from 'node:net';

import { DeskbellError } from '../../errors/deskbell-error.ts';

export interface WebhookTarget {
  readonly origin: string;
  /** With its query. */
  readonly path: string;
  /** For the address guard: the origin, where it may lead anywhere. */
  readonly trustedOrigins: readonly string[];
}

/** @throws {DeskbellError} ERR_CONFIGURATION */
export function parseWebhookUrl(text: string): WebhookTarget {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) throw notUsable('it must be an https URL');
  if (url.username !== '' || url.password !== '') throw notUsable('it must not hold a user name or password');
  const { origin, hostname, pathname, search } = url;
  const isWrittenOut = hostname === 'localhost' || isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0;
  if (url.protocol === 'http:' && !isWrittenOut) {
    throw notUsable('it must be https, unless it names an IP address or localhost');
  }
  return { origin, path: `${pathname}${search}`, trustedOrigins: isWrittenOut ? [origin] : [] };
}

const notUsable = (what: string): DeskbellError => new DeskbellError('ERR_CONFIGURATION', what);
