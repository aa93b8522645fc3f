// Live parts of pages as server-sent events: one event has the parts that changed, as HTML by the id of their place. Who looks at
// the same page shares one reading of the store.
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { htmlText, type Html } from '../../http/description/html.ts';
import type { Log } from '../../http/log.ts';
import { sendEvents, type ServerEvent } from '../event-stream.ts';
import { createFeeds } from '../feeds.ts';
import { liveId } from './components.ts';
import { sessionNameOf } from './access.ts';
import type { ConsoleSessions } from './sessions.ts';

/** By the name that `live` gives the element whose content each replaces. */
export type LiveParts = Readonly<Record<string, Html>>;

/** Adds a route; `render` is called about once a second as long as somebody looks. */
export type AddLive = (path: string, render: (request: FastifyRequest) => Promise<LiveParts>) => void;

/** The parts of a page as text, by the id of their place. */
type PartTexts = readonly (readonly [id: string, text: string])[];

const everyMs = 1000;
const maxReaders = 200;

export function createLive(app: FastifyInstance, sessions: ConsoleSessions, log: Log): AddLive {
  const onFault = (error: unknown): void => log.error({ event: 'live figures not read', error });
  const feeds = createFeeds<string, PartTexts>(onFault);
  let readers = 0;

  async function* readParts(
    render: () => Promise<LiveParts>,
    stopped: Promise<void>,
  ): AsyncGenerator<PartTexts> {
    const ending = new AbortController();
    const { signal } = ending;
    void stopped.then(() => ending.abort());
    while (!signal.aborted) {
      try {
        yield Object.entries(await render()).map(([name, part]) => [liveId(name), htmlText(part)] as const);
      } catch (error) {
        // it may be read again in a second
        onFault(error);
      }
      await sleep(everyMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  app.addHook('preClose', (done) => {
    feeds.close();
    done();
  });

  return (path, render) => {
    app.get(path, { exposeHeadRoute: false }, async (request, reply) => {
      if (readers >= maxReaders)
        throw new DeskbellError('ERR_RATE_LIMITED', `More than ${maxReaders} pages are open.`);
      // Whether there is such a page shows before the stream begins.
      await render(request);
      readers += 1;
      reply.raw.once('close', () => (readers -= 1));
      const parts = feeds.follow(request.url, (stopped) => readParts(() => render(request), stopped));
      const sessionName = sessionNameOf(request) ?? '';
      const isSignedIn = async (): Promise<boolean> => (await sessions.find(sessionName)) !== undefined;
      // silent for no longer, so that a page whose session has ended is closed
      return sendEvents(reply, newParts(parts), isSignedIn, everyMs);
    });
  };
}

async function* newParts(states: AsyncGenerator<PartTexts>): AsyncGenerator<ServerEvent> {
  const sent = new Map<string, string>();
  for await (const parts of states) {
    const changed = parts.filter(([id, text]) => sent.get(id) !== text);
    if (changed.length === 0) continue;
    for (const [id, text] of changed) sent.set(id, text);
    yield { event: 'message', data: Object.fromEntries(changed) };
  }
}
