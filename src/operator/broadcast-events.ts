// Broadcasts as server-sent events (HTML standard §9.2). Events are written only as fast as the client reads, so that
// a stalled client takes no more memory than its connection has buffered.
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import type { Progress } from '../delivery/broadcast/progress.ts';
import { escapeControls } from '../errors/untrusted-text.ts';
import { alarmToJson } from '../operations/alarms.ts';
import { broadcastToJson, progressToJson } from '../operations/broadcasts.ts';
import { isOver } from '../store/broadcasts.ts';

export interface ServerEvent {
  readonly event: string;
  /** The id that a reconnecting client sends as `Last-Event-ID`. The id must be one line. */
  readonly id: string;
  readonly data: object;
}

/** Heartbeats keep proxies from closing a silent connection, and show when a client has gone. */
const usualHeartbeatMs = 15_000;
/** How long clients wait before they reconnect. */
const retryMs = 2000;

/**
 * Sends events until they end or the client disconnects.
 *
 * @param open called when the client begins to read; `gone` is aborted when the client stops
 * @param isPermitted called before each event and heartbeat; false ends the stream
 */
export function sendEvents(
  reply: FastifyReply,
  open: (gone: AbortSignal) => AsyncGenerator<ServerEvent>,
  isPermitted: () => Promise<boolean>,
  heartbeatMs: number = usualHeartbeatMs,
): FastifyReply {
  // Without x-accel-buffering, nginx would delay events.
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

const format = ({ event, id, data }: ServerEvent): string =>
  `event: ${event}\nid: ${id}\ndata: ${escapeControls(JSON.stringify(data))}\n\n`;

// Shared feeds read a changing state once for all followers. A slow follower skips states, so that no queue grows.

export interface SharedFeeds<Key, State> {
  /**
   * Yields the current state, then newer states, until `read` ends or `close` is called.
   *
   * @param gone must be aborted when the follower leaves, because `return` does not interrupt a waiting generator
   * @param read called for the first follower; must end when `stopped` resolves
   */
  follow(
    key: Key,
    gone: AbortSignal,
    read: (stopped: Promise<void>) => AsyncIterable<State>,
  ): AsyncGenerator<State>;
  /** The number of feeds that are being read. */
  readonly size: number;
  close(): void;
}

interface Feed<State> {
  followers: number;
  latest: { readonly state: State } | undefined;
  version: number;
  isOver: boolean;
  /** Resolves with the next state or the end. */
  changed: PromiseWithResolvers<void>;
  readonly stopped: PromiseWithResolvers<void>;
}

/** @param onFault called with the error if a state cannot be read; the feed then ends */
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
      // the listener began to close while this request was in progress
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

// The events `progress`, `alarm` and `done` depend only on the state of the broadcast. An event's id says what the
// client has received so far, so a client that reconnects misses nothing, even if another process responds.

/** The events that a client has received. */
export interface SeenEvents {
  /** The number of alarms. Alarms are stored in order and never deleted. */
  readonly alarms: number;
  readonly isDone: boolean;
}

/** @param lastEventId from the client; an unknown value means that the client has received nothing */
export function readLastEventId(lastEventId: unknown): SeenEvents {
  const [, alarms = '0', done] = /^(\d{1,6})(-done)?$/.exec(String(lastEventId)) ?? [];
  return { alarms: Number(alarms), isDone: done !== undefined };
}

/** Sends progress when something has changed, and finally `done`. */
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
