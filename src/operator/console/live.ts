// Live parts of pages as server-sent events: one event has the parts that changed, as HTML by the id of their place. Who
// looks at the same page shares one reading of the store. A reader that does not keep up misses events, and gets the
// newest parts once it takes them; nothing is kept for it.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServerResponse } from 'node:http';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { htmlText, type Html } from '../../http/description/html.ts';
import type { Log } from '../../http/log.ts';
import { liveId } from './components.ts';
import { sessionNameOf } from './access.ts';
import type { ConsoleSessions } from './sessions.ts';

/** By the name that `live` gives the element whose content each replaces. */
export type LiveParts = Readonly<Record<string, Html>>;

/** Adds a route; `render` is called about once a second as long as somebody looks. */
export type AddLive = (path: string, render: (request: FastifyRequest) => Promise<LiveParts>) => void;

interface Reader {
  readonly response: ServerResponse;
  readonly sessionName: string;
  /** What it has. */
  readonly sent: Map<string, string>;
}

interface Feed {
  readonly readers: Set<Reader>;
  timer: NodeJS.Timeout | undefined;
}

const everyMs = 1000;
const maxReaders = 200;

export function createLive(app: FastifyInstance, sessions: ConsoleSessions, log: Log): AddLive {
  const feeds = new Map<string, Feed>();

  const tick = async (feed: Feed, render: () => Promise<LiveParts>): Promise<void> => {
    try {
      for (const reader of feed.readers) {
        if ((await sessions.find(reader.sessionName)) === undefined) reader.response.end();
      }
      const parts = Object.entries(await render()).map(
        ([name, part]) => [liveId(name), htmlText(part)] as const,
      );
      for (const reader of feed.readers) sendNew(reader, parts);
    } catch (error) {
      log.error({ event: 'live figures not read', error });
    }
  };

  const open = (url: string, render: () => Promise<LiveParts>): Feed => {
    const known = feeds.get(url);
    if (known !== undefined) return known;
    const feed: Feed = { readers: new Set(), timer: undefined };
    const run = async (): Promise<void> => {
      await tick(feed, render);
      if (feed.readers.size > 0) feed.timer = setTimeout(() => void run(), everyMs);
      else if (feeds.get(url) === feed) feeds.delete(url);
    };
    feeds.set(url, feed);
    feed.timer = setTimeout(() => void run(), 0);
    return feed;
  };

  app.addHook('preClose', (done) => {
    for (const { readers, timer } of feeds.values()) {
      clearTimeout(timer);
      for (const { response } of readers) response.end();
    }
    done();
  });

  return (path, render) => {
    app.get(path, async (request, reply) => {
      const open_ = [...feeds.values()].reduce((sum, { readers }) => sum + readers.size, 0);
      if (open_ >= maxReaders) {
        throw new DeskbellError('ERR_RATE_LIMITED', `More than ${maxReaders} pages are open.`);
      }
      // Whether there is such a page shows before the stream begins.
      await render(request);
      reply.hijack();
      const response = reply.raw;
      for (const [name, value] of Object.entries(reply.getHeaders())) response.setHeader(name, String(value));
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
      response.flushHeaders();
      const feed = open(request.url, () => render(request));
      const reader = { response, sessionName: sessionNameOf(request) ?? '', sent: new Map<string, string>() };
      feed.readers.add(reader);
      response.once('close', () => feed.readers.delete(reader));
      response.on('error', () => feed.readers.delete(reader));
    });
  };
}

function sendNew({ response, sent }: Reader, parts: readonly (readonly [id: string, text: string])[]): void {
  if (response.writableNeedDrain || response.writableEnded) return;
  const changed = parts.filter(([id, text]) => sent.get(id) !== text);
  // A comment shows both ends that the other is there.
  if (changed.length === 0) response.write(':\n\n');
  else response.write(`data: ${JSON.stringify(Object.fromEntries(changed))}\n\n`);
  for (const [id, text] of changed) sent.set(id, text);
}
