// A request as actions, authenticators and action creators receive it: method, URL, body and session. The response cannot
// be reached from it.
import type { FastifyRequest } from 'fastify';

/** The entries of a session by name; empty where there is none. */
export type SessionEntries = Readonly<Record<string, string>>;

/** Reads the session of a request; empty where it has none. */
export type ReadSession = (request: FastifyRequest) => SessionEntries;

/** What authenticators and action creators see of a request: method, URL, body and session. */
export class ActionRequest {
  readonly method: string;
  /** Path and query, unchanged. */
  readonly url: string;
  /** As parsed; `undefined` where there is none. */
  readonly body: unknown;
  readonly session: SessionEntries;

  constructor(request: FastifyRequest, readSession: ReadSession) {
    this.method = request.method;
    this.url = request.originalUrl;
    this.body = request.body;
    this.session = readSession(request);
  }
}
