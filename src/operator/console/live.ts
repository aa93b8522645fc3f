// Live parts of pages as server-sent events: one event has the parts that changed, as HTML by the id of their place. Who looks at
// the same page shares one reading of the store, which is given the page's address and nothing of any request: what depends on who
// looks is made of it for each viewer apart.
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { htmlText, type Html } from '../../http/description/html.ts';
import type { Log } from '../../http/log.ts';
import { sendEvents, type ServerEvent } from '../event-stream.ts';
import { createSharedFeeds } from '../shared-feed.ts';
import { createOpenResponses } from '../open-responses.ts';
import { liveId } from './components.ts';
import { sessionOf } from './require-session.ts';
import { sessionNameOf } from './session-cookie.ts';
import type { ConsoleSession, ConsoleSessions } from './sessions.ts';

/** By the name that `live` gives the element whose content each replaces. */
export type LiveParts = Readonly<Record<string, Html>>;

/** What all who look at a page see, and what each of them sees besides. */
export interface LivePage {
  readonly shared: LiveParts;
  /** Buttons and their forms. */
  readonly own?: ((session: ConsoleSession) => LiveParts) | undefined;
}

/** Which page is looked at. */
export interface LiveAddress {
  readonly params: unknown;
  readonly query: unknown;
}

/** Adds a route; `read` is called about once a second as long as somebody looks, for all of them together. */
export type AddLive = (path: string, read: (address: LiveAddress) => Promise<LivePage>) => void;

/** The parts of a page as text, by the id of their place. */
type PartTexts = readonly (readonly [id: string, text: string])[];

/** What is shared is text already. */
interface LiveState extends Pick<LivePage, 'own'> {
  readonly shared: PartTexts;
}

const everyMs = 1000;
const maxReaders = 200;

export function createLive(app: FastifyInstance, sessions: ConsoleSessions, log: Log): AddLive {
  const onFault = (error: unknown): void => log.error({ event: 'live figures not read', error });
  const feeds = createSharedFeeds<string, LiveState>(onFault);
  const readers = createOpenResponses();

  async function* readStates(
    read: () => Promise<LivePage>,
    stopped: Promise<void>,
  ): AsyncGenerator<LiveState> {
    const ending = new AbortController();
    const { signal } = ending;
    void stopped.then(() => ending.abort());
    while (!signal.aborted) {
      try {
        const { shared, own } = await read();
        yield { shared: toTexts(shared), own };
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

  return (path, read) => {
    app.get(path, { exposeHeadRoute: false }, async (request, reply) => {
      if (readers.size >= maxReaders)
        throw new DeskbellError('ERR_RATE_LIMITED', `More than ${maxReaders} pages are open.`);
      readers.add(reply.raw);
      const { params, query } = request;
      const address = { params, query };
      // Whether there is such a page shows before the stream begins.
      await read(address);
      const { url } = request;
      const session = sessionOf(request);
      const open = (gone: AbortSignal): AsyncGenerator<ServerEvent> => {
        const states = feeds.follow(url, gone, (stopped) => readStates(() => read(address), stopped));
        return newParts(states, session);
      };
      const sessionName = sessionNameOf(request) ?? '';
      const isSignedIn = async (): Promise<boolean> => (await sessions.find(sessionName)) !== undefined;
      // silent for no longer, so that a page whose session has ended is closed
      return sendEvents(reply, open, isSignedIn, everyMs);
    });
  };
}

async function* newParts(
  states: AsyncGenerator<LiveState>,
  session: ConsoleSession,
): AsyncGenerator<ServerEvent> {
  const sent = new Map<string, string>();
  for await (const { shared, own } of states) {
    const parts = [...shared, ...toTexts(own?.(session) ?? {})];
    const changed = parts.filter(([id, text]) => sent.get(id) !== text);
    if (changed.length === 0) continue;
    for (const [id, text] of changed) sent.set(id, text);
    yield { event: 'message', data: Object.fromEntries(changed) };
  }
}

const toTexts = (parts: LiveParts): PartTexts =>
  Object.entries(parts).map(([name, part]) => [liveId(name), htmlText(part)] as const);
