// Server-sent events (HTML standard §9.2): text that is made when the client takes it, so that one that stalls holds nothing but
// what its connection has buffered.
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { type Progress, watchProgress } from '../delivery/broadcast/progress.ts';
import { escapeControls } from '../errors/untrusted-text.ts';
import { alarmToJson } from '../operations/alarms.ts';
import { broadcastToJson, progressToJson } from '../operations/broadcasts.ts';
import { type BroadcastStore, isOver } from '../store/broadcasts.ts';

export interface ServerEvent {
  readonly event: string;
  /** What a client that comes back sends as `Last-Event-ID`: one line. */
  readonly id?: string | undefined;
  /** Sent as JSON, or as it is where it is text. */
  readonly data: object | string;
}

/** Proxies close connections that are silent for a minute; and it shows that a client is gone. */
const usualHeartbeatMs = 15_000;
/** When a client comes back after its connection was lost. */
const retryMs = 2000;

/**
 * Answers with the events until they end or the client goes.
 *
 * @param open called when the client begins to read; `gone` tells that it reads no more
 * @param isPermitted asked before each event and heartbeat; where it is false, the stream ends. Default: it is
 */
export function sendEvents(
  reply: FastifyReply,
  open: (gone: AbortSignal) => AsyncGenerator<ServerEvent>,
  isPermitted: () => Promise<boolean> = async () => true,
  heartbeatMs: number = usualHeartbeatMs,
): FastifyReply {
  // Without the latter, nginx would keep events back.
  reply.header('content-type', 'text/event-stream').header('x-accel-buffering', 'no');
  return reply.send(Readable.from(toText(open, isPermitted, heartbeatMs)));
}

async function* toText(
  open: (gone: AbortSignal) => AsyncGenerator<ServerEvent>,
  isPermitted: () => Promise<boolean>,
  heartbeatMs: number,
): AsyncGenerator<string> {
  const leaving = new AbortController();
  const events = open(leaving.signal);
  let next: Promise<IteratorResult<ServerEvent>> | undefined;
  try {
    yield `retry: ${retryMs}\n\n`;
    for (;;) {
      next ??= events.next();
      const result = await orHeartbeat(next, heartbeatMs);
      if (!(await isPermitted())) return;
      if (result === undefined) {
        yield ': still here\n\n';
        continue;
      }
      next = undefined;
      if (result.done) return;
      yield format(result.value);
    }
  } finally {
    leaving.abort();
    void events.return(undefined);
  }
}

async function orHeartbeat<Result>(next: Promise<Result>, heartbeatMs: number): Promise<Result | undefined> {
  const timer = new AbortController();
  try {
    const silence = sleep(heartbeatMs, undefined, { signal: timer.signal, ref: false });
    return await Promise.race([next, silence.catch(() => undefined)]);
  } finally {
    timer.abort();
  }
}

function format({ event, id, data }: ServerEvent): string {
  const text = typeof data === 'string' ? data : escapeControls(JSON.stringify(data));
  const lines = text.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  return `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}${lines.join('')}\n`;
}

// What changes with time, for any number of followers: each thing that is followed is read once for all of them. A follower that
// does not keep up gets the newest state next, so that nothing piles up.

interface SharedFeeds<Key, State> {
  /**
   * Yields the present state and then each newer one; ends when there is no further one, or when `close` is called.
   *
   * @param gone the follower has left: a generator that waits for a state that does not come cannot be told by `return`
   * @param read used where nobody follows it yet; to end when `stopped` resolves
   */
  follow(
    key: Key,
    gone: AbortSignal,
    read: (stopped: Promise<void>) => AsyncIterable<State>,
  ): AsyncGenerator<State>;
  /** How many things are being read. */
  readonly size: number;
  close(): void;
}

interface Feed<State> {
  followers: number;
  latest: { readonly state: State } | undefined;
  /** Counts the states. */
  version: number;
  isOver: boolean;
  /** Resolves at the next state, or at the end. */
  changed: PromiseWithResolvers<void>;
  readonly stopped: PromiseWithResolvers<void>;
}

/** @param onFault told why something cannot be read; its followers end then */
export function createSharedFeeds<Key, State>(onFault: (error: unknown) => void): SharedFeeds<Key, State> {
  const feeds = new Map<Key, Feed<State>>();
  let isClosed = false;

  const advance = (feed: Feed<State>): void => {
    feed.changed.resolve();
    feed.changed = Promise.withResolvers();
  };

  const readAll = async (key: Key, feed: Feed<State>, states: AsyncIterable<State>): Promise<void> => {
    try {
      for await (const state of states) {
        feed.latest = { state };
        feed.version += 1;
        advance(feed);
      }
    } catch (error) {
      onFault(error);
    } finally {
      feed.isOver = true;
      advance(feed);
      if (feeds.get(key) === feed) feeds.delete(key);
    }
  };

  const open = (key: Key, read: (stopped: Promise<void>) => AsyncIterable<State>): Feed<State> => {
    const feed: Feed<State> = {
      followers: 0,
      latest: undefined,
      version: 0,
      isOver: false,
      changed: Promise.withResolvers(),
      stopped: Promise.withResolvers(),
    };
    feeds.set(key, feed);
    void readAll(key, feed, read(feed.stopped.promise));
    return feed;
  };

  const leave = (key: Key, feed: Feed<State>): void => {
    feed.followers -= 1;
    if (feed.followers > 0) return;
    feed.stopped.resolve();
    if (feeds.get(key) === feed) feeds.delete(key);
  };

  return {
    async *follow(key, gone, read) {
      // a request that was being answered when the listener began to close
      if (isClosed || gone.aborted) return;
      const feed = feeds.get(key) ?? open(key, read);
      feed.followers += 1;
      const wake = (): void => advance(feed);
      gone.addEventListener('abort', wake);
      try {
        for (let seen = 0; !gone.aborted;) {
          const { changed } = feed;
          if (feed.latest !== undefined && feed.version > seen) {
            seen = feed.version;
            yield feed.latest.state;
          } else if (feed.isOver) return;
          else await changed.promise;
        }
      } finally {
        gone.removeEventListener('abort', wake);
        leave(key, feed);
      }
    },

    get size() {
      return feeds.size;
    },

    close() {
      isClosed = true;
      for (const feed of feeds.values()) {
        feed.isOver = true;
        feed.stopped.resolve();
        advance(feed);
      }
    },
  };
}

// How far broadcasts are, for any number of followers.

export interface ProgressFeeds extends Pick<SharedFeeds<number, Progress>, 'size' | 'close'> {
  /** Yields the present state and then each newer one; ends when the broadcast is over, when `close` is called, or on `gone`. */
  follow(broadcastId: number, gone: AbortSignal): AsyncGenerator<Progress>;
}

/** @param onFault told why a broadcast cannot be read; its followers end then */
export function createProgressFeeds(
  store: BroadcastStore,
  onFault: (error: unknown) => void,
  everyMs = 500,
): ProgressFeeds {
  const feeds = createSharedFeeds<number, Progress>(onFault);
  return {
    follow: (id, gone) => feeds.follow(id, gone, (stopped) => watchProgress(store, id, stopped, everyMs)),
    get size() {
      return feeds.size;
    },
    close: () => feeds.close(),
  };
}

// The events of one broadcast: `progress`, `alarm` and `done`. What is sent follows from the state of the broadcast alone, and
// an event's id says how much of that a client has, so that one that comes back misses nothing, to another process too.

/** What a client has. */
export interface SeenEvents {
  /** How many alarms: they are stored in their order and stay. */
  readonly alarms: number;
  readonly isDone: boolean;
}

/** @param lastEventId as the client sends it; anything that is none of ours has seen nothing */
export function readLastEventId(lastEventId: unknown): SeenEvents {
  const [, alarms = '0', done] = /^(\d{1,6})(-done)?$/.exec(String(lastEventId)) ?? [];
  return { alarms: Number(alarms), isDone: done !== undefined };
}

/** Progress is sent when something has changed; the last event is `done`. */
export async function* broadcastEvents(
  states: AsyncGenerator<Progress>,
  seen: SeenEvents,
): AsyncGenerator<ServerEvent> {
  let alarmsSeen = seen.alarms;
  let lastState = '';
  for await (const progress of states) {
    const { broadcast } = progress;
    for (const alarm of broadcast.alarms.slice(alarmsSeen)) {
      alarmsSeen += 1;
      yield {
        event: 'alarm',
        id: String(alarmsSeen),
        data: { broadcastId: broadcast.id, ...alarmToJson(alarm) },
      };
    }
    const shown = broadcastToJson(broadcast);
    if (isOver(broadcast)) {
      yield { event: 'done', id: `${alarmsSeen}-done`, data: shown };
      return;
    }
    const state = JSON.stringify(shown);
    if (state === lastState) continue;
    lastState = state;
    yield { event: 'progress', id: String(alarmsSeen), data: progressToJson(progress) };
  }
}
