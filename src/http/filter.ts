// Global filters run around every request of a scope, whatever its outcome. A filter gets the request's method and URL,
// and the response's status, headers and an opaque entity; it cannot reach a body or session.
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { requestStartMs } from './connections.ts';

/** The parts of a request that a filter can see. A filter sees neither the body nor the session. */
export interface RequestHead {
  readonly method: string | undefined;
  readonly url: string | undefined;
  /** When the request's first byte (its whole header in another framework's server) arrived, by `performance.now()`. */
  readonly startMs: number;
}

/** The parts of a response that a filter can see. The body is an opaque value. */
export interface FilteredResponse {
  readonly status: number;
  readonly entity: SealedValue;
  readonly isAborted: boolean;
  setHeader(name: string, value: string): void;
}

/** Gives the whole URL, even if Express has removed a mount path from it. */
export function toRequestHead(raw: IncomingMessage & { readonly originalUrl?: string }): RequestHead {
  const { method, url, originalUrl = url, socket } = raw;
  return { method, url: originalUrl, startMs: requestStartMs(socket) };
}

/**
 * The service calls a filter when a request begins. The filter returns a function, which the service calls before it
 * sends the response.
 */
export type Filter = (request: RequestHead) => (response: FilteredResponse) => void;

const finishers = Symbol('finishers of the enabled filters');
type FilteredReply = FastifyReply & { [finishers]: readonly ReturnType<Filter>[] | null };

/**
 * Runs the filters around every request of the application, including requests that fail. The filters run in the order
 * in which they are given.
 */
export function enableFilters(app: FastifyInstance, filters: readonly Filter[]): void {
  if (filters.length === 0) return;
  app.decorateReply(finishers, null);
  app.addHook('onRequest', (request, reply, done) => {
    const head = toRequestHead(request.raw);
    (reply as FilteredReply)[finishers] = filters.map((filter) => filter(head));
    done();
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    const response: FilteredResponse = {
      status: reply.statusCode,
      entity: opaqueValue,
      isAborted: reply.request.raw.socket.destroyed,
      setHeader: (name, value) => void reply.header(name, value),
    };
    // a hook of the application may have responded before our hook ran
    const finish =
      (reply as FilteredReply)[finishers] ?? filters.map((filter) => filter(toRequestHead(request.raw)));
    for (const one of finish) one(response);
    done();
  });
}

/** A value that only the `open` function of its sealer can read. */
export type SealedValue = Readonly<Record<never, never>>;

export function createSealer<Value>() {
  const values = new WeakMap<SealedValue, Value>();
  return {
    seal(value: Value): SealedValue {
      const entity = Object.freeze(Object.create(null));
      values.set(entity, value);
      return entity;
    },
    /** @throws {TypeError} for an entity that this opener did not seal */
    open(entity: SealedValue): Value {
      if (!values.has(entity)) throw new TypeError('Not an entity that was handed out here.');
      return values.get(entity) as Value;
    },
  };
}

/** Stands for the body in what filters see, because a filter must not read the body. */
export const opaqueValue: SealedValue = Object.freeze(Object.create(null));
