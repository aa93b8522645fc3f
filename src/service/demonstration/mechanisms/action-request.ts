import type { FastifyRequest } from 'fastify';

/** A session's entries by name; empty without a session. */
export type SessionEntries = Readonly<Record<string, string>>;

/** Reads the session of a request; empty without one. */
export type ReadSession = (request: FastifyRequest) => SessionEntries;

/** A request as actions, authenticators and action creators see it. The response cannot be reached from it. */
export class ActionRequest {
  readonly method: string;
  /** Path and query, unchanged. */
  readonly url: string;
  /** Parsed; `undefined` without a body. */
  readonly body: unknown;
  readonly session: SessionEntries;

  constructor(request: FastifyRequest, readSession: ReadSession) {
    this.method = request.method;
    this.url = request.originalUrl;
    this.body = request.body;
    this.session = readSession(request);
  }
}
