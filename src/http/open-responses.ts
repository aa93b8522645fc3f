// The responses that a connection still owes. Node parses all requests that arrive in one read, 64 KiB, before the first of them
// is answered, and keeps a request and a response for each: some kilobytes for forty bytes.
import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Requests of one connection that may wait for their responses; beyond, the connection is closed. */
const maxOpenResponses = 32;

/** In the order of their requests. Only the last one is certain to be the newest; those before it may be finished. */
const openResponses = Symbol('open responses');
type AnsweredSocket = Duplex & { [openResponses]?: ServerResponse[] };

/**
 * Records the responses of each connection, and closes one that asks for more than it takes. What has arrived with the request that
 * is one too many is not handled.
 */
export function limitOpenResponses(server: Server): void {
  const handlers = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request').on('request', (request, response) => {
    if (!isAdmitted(request.socket, response)) return;
    for (const handle of handlers) handle(request, response);
  });
}

function isAdmitted(socket: AnsweredSocket, response: ServerResponse): boolean {
  const open = (socket[openResponses] ??= []);
  if (open.at(-1)?.writableFinished) open.length = 0;
  open.push(response);
  if (open.length <= maxOpenResponses) return true;
  const finished = open.findIndex(({ writableFinished }) => !writableFinished);
  open.splice(0, finished);
  if (open.length > maxOpenResponses) socket.destroy();
  return !socket.destroyed;
}

/** The response to the newest request of a connection. */
export const newestResponse = (socket: AnsweredSocket): ServerResponse | undefined =>
  socket[openResponses]?.at(-1);
