// Connects to an origin, and makes the session for the protocol that ALPN has settled on.
import { connect, type ConnectSettings, type Protocol } from './connect.ts';
import type { Session, SessionEvents, SessionSettings } from './exchange.ts';
import { Http1Session } from './http1.ts';
import { Http2Session } from './http2/session.ts';

export interface OpenedSession {
  readonly session: Session;
  readonly protocol: Protocol;
}

/**
 * @param aborted ends the attempt with the signal's reason
 * @throws {DeskbellError} ERR_ADDRESS_BLOCKED, ERR_CONNECTION, ERR_TLS, ERR_TIMEOUT
 */
export async function openSession(
  origin: URL,
  settings: ConnectSettings & SessionSettings,
  events: SessionEvents,
  aborted: AbortSignal,
): Promise<OpenedSession> {
  aborted.throwIfAborted();
  const connection = await connect(origin, settings, aborted);
  const { protocol } = connection;
  const SessionOfProtocol = protocol === 'h2' ? Http2Session : Http1Session;
  return { session: new SessionOfProtocol(connection, origin.host, events, settings), protocol };
}
