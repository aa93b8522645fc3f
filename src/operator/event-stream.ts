// Server-sent events (HTML standard §9.2): text that is made when the client takes it, so that one that stalls holds nothing but
// what its connection has buffered.
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';

import { escapeControls } from '../errors/untrusted-text.ts';

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
