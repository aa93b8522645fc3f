// A push service that is as imperfect as it is told to be, over HTTP/2, in a process of its own:
//
//   node push-service-process.ts      posts its origin and certificate to its parent, and takes a behaviour, or `report`, from it
//
// It notes when each path got its first request, and how long after its refusal each refused one came again.
import { createSecureServer, type Http2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { makeCertificate } from '../../src/push-service/http/certificate.ts';

export interface Behaviour {
  readonly delayMs: number;
  /** Of the rows, answered 503 the first time. */
  readonly refusedShare?: number;
  /** Of the first answers, five seconds late. */
  readonly lateShare?: number;
  /** Of the connections, ended once by GOAWAY or by a reset. */
  readonly endedShare?: number;
  readonly ending?: 'goaway' | 'reset';
  /** Takes connections and answers nothing. */
  readonly hangs?: boolean;
}

/** Since it was told its behaviour; times in milliseconds since the first request. */
export interface PushServiceReport {
  readonly paths: number;
  readonly requests: number;
  readonly lastFirstMs: number;
  /** When the last request came, since 1970. */
  readonly lastAtMs: number;
  /** Of rows that were refused, from the answer until they came again. */
  readonly returnedAfterMs: readonly number[];
}

const lateMs = 5000;
/** A connection that is to end does so with one of its requests. */
const endsWithin = 300;

let behaviour: Behaviour = { delayMs: 0 };
const { cert, key } = makeCertificate(['127.0.0.1']);
const server = createSecureServer({ cert, key });
const firsts = new Map<string, number>();
const refusedAt = new Map<string, number>();
const returnedAfterMs: number[] = [];
let requests = 0;
let connections = 0;
let lastFirstAt = 0;
let lastAtMs = 0;

/** The same rows in every run: every so many. */
const isChosen = (number: number, share: number): boolean =>
  Math.floor((number + 1) * share) > Math.floor(number * share);

server.on('session', (session: Http2Session) => {
  session.on('error', () => {});
  connections += 1;
  const { endedShare = 0, ending = 'goaway' } = behaviour;
  const endsAfter = isChosen(connections - 1 + 1 / (endedShare || 1) / 2, endedShare) ? endsWithin : Infinity;
  let taken = 0;
  session.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => {});
    taken += 1;
    if (taken === endsAfter) {
      if (ending === 'goaway') session.goaway(0, (stream.id ?? 1) - 100);
      else session.socket.destroy();
    }
    const path = String(headers[':path']);
    stream.resume();
    take(path, stream);
  });
});

function take(path: string, stream: ServerHttp2Stream): void {
  const { delayMs, refusedShare = 0, lateShare = 0, hangs = false } = behaviour;
  const now = performance.now();
  requests += 1;
  lastAtMs = Date.now();
  const isFirst = !firsts.has(path);
  if (isFirst) {
    firsts.set(path, now);
    lastFirstAt = now;
  }
  const refused = refusedAt.get(path);
  if (refused !== undefined) {
    refusedAt.delete(path);
    returnedAfterMs.push(now - refused);
  }
  if (hangs) return;
  const row = Number(path.split('/', 3)[2]);
  const isRefused = isFirst && isChosen(row, refusedShare);
  const isLate = isFirst && isChosen(row, lateShare);
  setTimeout(
    () => {
      if (stream.destroyed) return;
      if (isRefused) refusedAt.set(path, performance.now());
      stream.respond({ ':status': isRefused ? 503 : 201 }, { endStream: true });
    },
    isLate ? lateMs : delayMs,
  );
}

process.on('message', (order: Behaviour | 'report') => {
  if (order !== 'report') {
    behaviour = order;
    firsts.clear();
    refusedAt.clear();
    returnedAfterMs.length = requests = connections = 0;
    return;
  }
  const startedAt = Math.min(...firsts.values());
  const report: PushServiceReport = {
    paths: firsts.size,
    requests,
    lastFirstMs: lastFirstAt - startedAt,
    lastAtMs,
    returnedAfterMs,
  };
  process.send?.(report);
});
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => {
  process.send?.({ origin: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, cert });
});
