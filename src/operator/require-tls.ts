// Where the listener may be without TLS: on loopback, and behind a proxy that provides it.
import { DeskbellError } from '../errors/deskbell-error.ts';
import { isLoopback } from '../http/client-address.ts';

/**
 * @param isSecure where the listener, or a proxy in front of it, speaks TLS
 * @throws {DeskbellError} ERR_CONFIGURATION
 */
export function requireTls(host: string, isSecure: boolean): void {
  if (isLoopback(host) || isSecure) return;
  throw new DeskbellError(
    'ERR_CONFIGURATION',
    `The operator’s listener on ${host} can be reached from other machines, and its tokens must not be sent ` +
      'unencrypted: give --operator-cert and --operator-key, or --operator-behind-proxy if a proxy provides TLS.',
  );
}
