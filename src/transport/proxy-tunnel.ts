// A CONNECT tunnel (RFC 9110 §9.3.6) through an HTTP proxy, for https and http origins alike.
import type { Socket } from 'node:net';

import { DeskbellError } from '../errors/deskbell-error.ts';
import { connectionError } from './connection-errors.ts';
import type { Proxy } from './proxy.ts';

const maxHeadBytes = 16_384;

/**
 * Asks the proxy at the other end of `socket` for a tunnel. When it resolves, the socket is connected to `authority`.
 *
 * @param authority host and port, as in `push.example.org:443`
 * @throws {DeskbellError} ERR_CONNECTION with the proxy's status where it refuses
 */
export async function openTunnel(socket: Socket, authority: string, proxy: Proxy): Promise<void> {
  const credentials =
    proxy.authorization === undefined ? '' : `proxy-authorization: ${proxy.authorization}\r\n`;
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${credentials}\r\n`);
  const head = await readHead(socket);
  const status = /^HTTP\/1\.[01] (\d{3})(?: |\r)/.exec(head)?.[1];
  if (status?.startsWith('2')) return;
  const answer = status === undefined ? 'something that is not HTTP' : `status ${status}`;
  throw new DeskbellError('ERR_CONNECTION', `The proxy answered CONNECT ${authority} with ${answer}.`);
}

/** Everything up to the empty line. The server behind the tunnel sends nothing before we do, so nothing may follow. */
function readHead(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let head = '';
    const stop = (error?: DeskbellError): void => {
      socket.off('readable', read).off('error', failed).off('close', closed);
      if (error === undefined) resolve(head);
      else reject(error);
    };
    const fail = (what: string, cause?: Error): void => stop(connectionError('The proxy', what, cause));
    const failed = (cause: Error): void => fail('lost the connection before it answered CONNECT', cause);
    const closed = (): void => fail('closed the connection before it answered CONNECT');
    const read = (): void => {
      for (
        let chunk = socket.read() as Buffer | null;
        chunk !== null;
        chunk = socket.read() as Buffer | null
      ) {
        head += chunk.toString('latin1');
      }
      const end = head.indexOf('\r\n\r\n');
      if (end === -1 && head.length > maxHeadBytes) fail(`sent more than ${maxHeadBytes} bytes of header`);
      else if (end !== -1 && end + 4 < head.length) fail('sent more than an answer to CONNECT');
      else if (end !== -1) stop();
    };
    socket.on('readable', read).on('error', failed).on('close', closed);
  });
}
