// Limits the responses that a connection is waiting for. Node parses all requests of one read, 64 KiB, before the first
// is answered, and keeps a request and a response for each: kilobytes for forty bytes.
import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

const maxOpenResponses = 32;

const openResponses = Symbol('open responses');
type AnsweredSocket = Duplex & { [openResponses]?: ServerResponse[] };

/** Records each connection's responses, and closes one that has more requests open than `maxOpenResponses`. */
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

export const newestResponse = (socket: AnsweredSocket): ServerResponse | undefined =>
  socket[openResponses]?.at(-1);
