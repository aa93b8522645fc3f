// Connects to an origin and makes a session for the protocol that ALPN selected.
import { connectionError } from './connection-errors.ts';
import { connect, type Connection, type ConnectSettings } from './connect.ts';
import type { Session, SessionEvents, SessionSettings } from './exchange.ts';
import type { Http1Session } from './http1.ts';
import { Http2Session } from './http2/session.ts';

/**
 * @param aborted ends the attempt with the signal's reason
 * @throws {DeskbellError} ERR_ADDRESS_BLOCKED, ERR_CONNECTION, ERR_TLS, ERR_TIMEOUT
 */
export type OpenSession = (
  origin: URL,
  settings: ConnectSettings & SessionSettings,
  events: SessionEvents,
  aborted: AbortSignal,
) => Promise<Session>;

export const openSession: OpenSession = async (origin, settings, events, aborted) => {
  aborted.throwIfAborted();
  const connection = await connect(origin, settings, aborted);
  const SessionOfProtocol = connection.protocol === 'h2' ? Http2Session : await loadHttp1(connection, origin);
  return new SessionOfProtocol(connection, origin.host, events, settings);
};

/**
 * Loads the HTTP/1.1 session on demand. Known push services use HTTP/2, and `node:http` also loads Node's `fetch`,
 * which takes 30 ms at the start of every thread.
 *
 * @throws {DeskbellError} ERR_CONNECTION if the connection ends during the import
 */
async function loadHttp1({ socket }: Connection, { host }: URL): Promise<typeof Http1Session> {
  const { Http1Session: Session } = await import('./http1.ts');
  if (!socket.destroyed) return Session;
  throw connectionError(host, 'closed the connection at once');
}
