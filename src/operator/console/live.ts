// Live parts of pages as server-sent events. `message` has the HTML of changed parts by element id. `read` says when
// the figures were read, and `unread` says that reading them failed. All viewers of an address share one read of the
// store. Parts that depend on the viewer are created separately.
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { htmlText, type Html } from '../../http/description/html.ts';
import type { Log } from '../../http/log.ts';
import { createSharedFeeds, sendEvents, type ServerEvent } from '../broadcast-events.ts';
import { liveId } from './components.ts';
import { type ConsoleSession, type ConsoleSessions, sessionNameOf, sessionOf } from './sessions.ts';

/** The new content of `live` elements, by their names. */
export type LiveParts = Readonly<Record<string, Html>>;

/** The live parts of a page: parts that all viewers share, and parts that depend on the viewer. */
export interface LivePage {
  readonly shared: LiveParts;
  /** The parts that depend on the viewer: buttons, forms and links to forms. */
  readonly own?: ((session: ConsoleSession) => LiveParts) | undefined;
  /** Sentences for screen readers, as in `Page`. */
  readonly status?: readonly string[] | undefined;
}

/** Identifies the page that is viewed. */
export interface LiveAddress {
  readonly params: unknown;
  readonly query: unknown;
}

/** Adds a route. About once a second, it calls `read` for all viewers together. */
export type AddLive = (path: string, read: (address: LiveAddress) => Promise<LivePage>) => void;

/** The parts of a page as text, by element id. */
type PartTexts = readonly (readonly [id: string, text: string])[];

/** The shared parts of a page as text. `page` is undefined if reading failed. */
interface LiveState {
  readonly page: (Omit<LivePage, 'shared'> & { readonly shared: PartTexts }) | undefined;
  /** When reading of the page began. */
  readonly atMs: number;
  /** When reading of the page began, by a monotonic clock. */
  readonly begunAt: number;
}

const everyMs = 1000;
const maxReaders = 200;

export function createLive(app: FastifyInstance, sessions: ConsoleSessions, log: Log): AddLive {
  const onFault = (error: unknown): void => log.error({ event: 'live figures not read', error });
  const feeds = createSharedFeeds<string, LiveState>(onFault);
  const readers = new Set<ServerResponse>();

  /** Adds a reader until its client leaves, which may happen at any moment, even before the handler begins. */
  const addReader = (response: ServerResponse): void => {
    // the response has emitted "close" already, and will not emit it again
    if (response.destroyed) return;
    readers.add(response);
    response.once('close', () => readers.delete(response));
  };

  async function* readStates(
    read: () => Promise<LivePage>,
    stopped: Promise<void>,
  ): AsyncGenerator<LiveState> {
    const ending = new AbortController();
    const { signal } = ending;
    void stopped.then(() => ending.abort());
    while (!signal.aborted) {
      const begun = begin();
      try {
        yield toState(await read(), begun);
      } catch (error) {
        // go on, because the next read may succeed
        onFault(error);
        yield { page: undefined, ...begun };
      }
      await sleep(everyMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  app.addHook('preClose', (done) => {
    feeds.close();
    done();
  });

  // A page that has lost its stream requests this, to find out whether its session has ended.
  app.get('/session', (_request, reply) => reply.code(204).send());

  return (path, read) => {
    app.get(path, { exposeHeadRoute: false }, async (request, reply) => {
      if (readers.size >= maxReaders)
        throw new DeskbellError('ERR_RATE_LIMITED', `More than ${maxReaders} pages are open.`);
      addReader(reply.raw);
      const { params, query } = request;
      const address = { params, query };
      // An unknown page must fail before the stream begins.
      const begun = begin();
      const first = toState(await read(address), begun);
      const { url } = request;
      const session = sessionOf(request);
      const sessionName = sessionNameOf(request) ?? '';
      const isSignedIn = async (): Promise<boolean> => (await sessions.find(sessionName)) !== undefined;
      const open = (gone: AbortSignal): AsyncGenerator<ServerEvent> => {
        const states = feeds.follow(url, gone, (stopped) => readStates(() => read(address), stopped));
        return toEvents(first, whileSignedIn(states, isSignedIn), session);
      };
      return sendEvents(reply, open);
    });
  };
}

const begin = (): Omit<LiveState, 'page'> => ({ atMs: Date.now(), begunAt: performance.now() });

const toState = ({ shared, ...rest }: LivePage, begun: Omit<LiveState, 'page'>): LiveState => ({
  page: { ...rest, shared: toTexts(shared) },
  ...begun,
});

/** Yields states until the session ends. If the store cannot tell whether the session has ended, yields nothing. */
async function* whileSignedIn(
  states: AsyncGenerator<LiveState>,
  isSignedIn: () => Promise<boolean>,
): AsyncGenerator<LiveState> {
  for await (const state of states) {
    const answer = await isSignedIn().catch(() => undefined);
    if (answer === false) return;
    yield answer ? state : { ...state, page: undefined };
  }
}

/** Skips states older than the page, since the page may already show an action of the operator that they lack. */
async function* toEvents(
  first: LiveState,
  states: AsyncGenerator<LiveState>,
  session: ConsoleSession,
): AsyncGenerator<ServerEvent> {
  const sent = new Map<string, string>();
  yield* newParts(first, sent, session);
  for await (const state of states) {
    if (state.begunAt > first.begunAt) yield* newParts(state, sent, session);
  }
}

function* newParts(
  { page, atMs }: LiveState,
  sent: Map<string, string>,
  session: ConsoleSession,
): Generator<ServerEvent> {
  if (page === undefined) {
    yield { event: 'unread', data: {} };
    return;
  }
  const { shared, own, status = [] } = page;
  const parts = [...shared, ...toTexts(own?.(session) ?? {})];
  const changed = parts.filter(([id, text]) => sent.get(id) !== text);
  for (const [id, text] of changed) sent.set(id, text);
  if (changed.length > 0) yield { event: 'message', data: Object.fromEntries(changed) };
  yield { event: 'read', data: { atMs, status } };
}

const toTexts = (parts: LiveParts): PartTexts =>
  Object.entries(parts).map(([name, part]) => [liveId(name), htmlText(part)] as const);
