// Broadcasts as server-sent events (HTML standard §9.2). Events are written only as fast as the client reads, so that
// a stalled client takes no more memory than its connection has buffered. An event's id says what the client has
// received so far, so a client that reconnects misses nothing, even if another process responds.
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import type { Progress } from '../delivery/broadcast/progress.ts';
import { escapeControls } from '../errors/untrusted-text.ts';
import { alarmToJson } from '../operations/alarms.ts';
import { broadcastToJson, progressToJson } from '../operations/broadcasts.ts';
import { isOver } from '../store/broadcasts.ts';

const everyMs = 500;
/** Heartbeats keep proxies from closing a silent connection, and show when a client has gone. */
const heartbeatMs = 15_000;
/** How long clients wait before they reconnect. */
const retryMs = 2000;

/** Sends events until they end or the client disconnects. */
export const sendEvents = (reply: FastifyReply, events: AsyncGenerator<string>): FastifyReply =>
  reply
    .header('content-type', 'text/event-stream')
    // without this, nginx would delay events
    .header('x-accel-buffering', 'no')
    .send(Readable.from(events));

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

/**
 * Yields the events `alarm`, `progress` when something has changed, and finally `done`.
 *
 * @param read reads the progress; undefined ends the events
 * @param isPermitted called before something is sent; false ends the events
 */
export async function* broadcastEvents(
  read: () => Promise<Progress | undefined>,
  { alarms }: SeenEvents,
  isPermitted: () => Promise<boolean>,
): AsyncGenerator<string> {
  yield `retry: ${retryMs}\n\n`;
  let lastState = '';
  let sentAtMs = performance.now();
  for (;;) {
    const progress = await read();
    if (progress === undefined) return;
    const { broadcast } = progress;
    let text = '';
    for (const alarm of broadcast.alarms.slice(alarms)) {
      alarms += 1;
      text += format('alarm', alarms, { broadcastId: broadcast.id, ...alarmToJson(alarm) });
    }
    const shown = broadcastToJson(broadcast);
    const state = JSON.stringify(shown);
    if (isOver(broadcast)) text += format('done', `${alarms}-done`, shown);
    else if (state !== lastState) text += format('progress', alarms, progressToJson(progress));
    else if (performance.now() > sentAtMs + heartbeatMs) text += ': still here\n\n';
    lastState = state;
    if (text !== '') {
      if (!(await isPermitted())) return;
      sentAtMs = performance.now();
    }
    // yield even an empty text: a generator whose client has gone can only end here
    yield text;
    if (isOver(broadcast)) return;
    await sleep(everyMs);
  }
}

const format = (event: string, id: number | string, data: object): string =>
  `event: ${event}\nid: ${id}\ndata: ${escapeControls(JSON.stringify(data))}\n\n`;
