// A request as actions, authenticators and action creators receive it: method, URL, body and session. The response cannot
// be reached from it.
import type { FastifyRequest } from 'fastify';

/** The entries of a session by name; empty where there is none. */
export type SessionEntries = Readonly<Record<string, string>>;

/** Reads the session of a request; empty where it has none. */
export type ReadSession = (request: FastifyRequest) => SessionEntries;

/** What authenticators and action creators see of a request: method, URL, body and session. */
export class ActionRequest {
  readonly #request: FastifyRequest;
  readonly #readSession: ReadSession;

  constructor(request: FastifyRequest, readSession: ReadSession) {
    this.#request = request;
    this.#readSession = readSession;
  }

  get method(): string {
    return this.#request.method;
  }

  /** Path and query, unchanged. */
  get url(): string {
    return this.#request.url;
  }

  /** As parsed; `undefined` where there is none. */
  get body(): unknown {
    return this.#request.body;
  }

  get session(): SessionEntries {
    return this.#readSession(this.#request);
  }
}
