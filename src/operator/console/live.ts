// Live parts of pages. A page asks once a second for the parts that have changed since its last answer. All viewers of an
// address share one read of the store. Parts that depend on the viewer are created separately.
import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { htmlText, type Html } from '../../http/description/html.ts';
import { sendJson } from '../../http/json-body.ts';
import { liveId } from './components.ts';
import { type ConsoleSession, sessionOf } from './sessions.ts';

/** The new content of `live` elements, by their names. */
type LiveParts = Readonly<Record<string, Html>>;

/** The live parts of a page: parts that all viewers share, and parts that depend on the viewer. */
export interface LivePage {
  readonly shared: LiveParts;
  /** The parts that depend on the viewer: buttons, forms and links to forms. */
  readonly own?: ((session: ConsoleSession) => LiveParts) | undefined;
  /** Sentences for screen readers, as in `Page`. */
  readonly status?: readonly string[] | undefined;
}

/** Adds a route. About once a second, it calls `read` for all viewers together. */
export type AddLive = (
  path: string,
  read: (address: Pick<FastifyRequest, 'params' | 'query'>) => Promise<LivePage>,
) => void;

/** A page as it was read. Reads are numbered in the order in which they begin. */
interface LiveState extends Pick<LivePage, 'own' | 'status'> {
  readonly number: number;
  readonly atMs: number;
  /** Until this time, by `performance.now()`, other viewers get this state without another read. */
  readonly freshUntilMs: number;
  /** The shared parts by name, each with the number of the read that first returned the current HTML. */
  readonly parts: ReadonlyMap<string, { readonly html: string; readonly since: number }>;
}

const everyMs = 1000;
/** The number of URLs whose states are kept. Viewers of a forgotten URL get all parts again. */
const maxAddresses = 100;

export function createLive(app: FastifyInstance): AddLive {
  const states = new Map<string, Promise<LiveState>>();
  // distinguishes the read numbers of this process from another process's
  const maker = randomUUID();
  let reads = 0;

  const readAfter = async (
    known: LiveState | undefined,
    read: () => Promise<LivePage>,
  ): Promise<LiveState> => {
    const number = (reads += 1);
    const atMs = Date.now();
    const { shared, own, status } = await read();
    const parts = Object.entries(shared).map(([name, part]) => {
      const before = known?.parts.get(name);
      const html = htmlText(part);
      return [name, before?.html === html ? before : { html, since: number }] as const;
    });
    // counted from the end of the read: a slow read would otherwise be stale for the viewers who wait for it
    const freshUntilMs = performance.now() + everyMs;
    return { own, status, number, atMs, freshUntilMs, parts: new Map(parts) };
  };

  /** @param least the lowest read number to use; the state of an earlier read may be older than the viewer's page */
  const stateOf = async (url: string, read: () => Promise<LivePage>, least: number): Promise<LiveState> => {
    const latest = states.get(url);
    const state = await latest?.catch(() => undefined);
    if (state !== undefined && state.number >= least && performance.now() < state.freshUntilMs) return state;
    // another viewer has caused a read in the meantime
    if (states.get(url) !== latest) return stateOf(url, read, least);
    const next = readAfter(state, read);
    states.delete(url);
    states.set(url, next);
    if (states.size > maxAddresses) states.delete(states.keys().next().value!);
    return next;
  };

  return (path, read) => {
    app.get(path, async (request, reply) => {
      const { params, query, headers, url } = request;
      const [by, number] = String(headers['deskbell-seen']).split(' ');
      // a page that was just loaded needs a new read, because it may be newer than every read so far
      const seen = by === maker ? Number(number) : undefined;
      const state = await stateOf(url, () => read({ params, query }), seen ?? reads + 1);
      const changed = [...state.parts].filter(([, { since }]) => since > (seen ?? 0));
      const own = Object.entries(state.own?.(sessionOf(request)) ?? {});
      return sendJson(reply, {
        seen: `${maker} ${state.number}`,
        atMs: state.atMs,
        status: state.status ?? [],
        parts: Object.fromEntries([
          ...changed.map(([name, { html }]) => [liveId(name), html]),
          ...own.map(([name, part]) => [liveId(name), htmlText(part)]),
        ]),
      });
    });
  };
}
