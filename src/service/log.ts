// Where the service's records go: JSON lines, or readable lines on a terminal. Writing is buffered, so that a request
// never waits for the disk; what is buffered is out after a fifth of a second, and when the process ends.
import { openSync } from 'node:fs';
import { pino, type DestinationStream } from 'pino';
import pretty from 'pino-pretty';

/** What the service needs of a logger; a pino logger is one. */
export interface Log {
  info(record: object): void;
  error(record: object): void;
}

export interface OpenLog extends Log {
  /** Writes out what is buffered. */
  flush(): void;
  /** Writes out what is buffered and gives the file back. */
  close(): void;
}

export interface LogOptions {
  /** Path of a file to append to. Default: standard output. */
  readonly file?: string;
  /** Readable lines in place of JSON. Default: where standard output is a terminal. */
  readonly isReadable?: boolean;
}

const batchedCharacters = 16_384;
const flushIntervalMs = 200;

export function createLog({
  file,
  isReadable = file === undefined && process.stdout.isTTY,
}: LogOptions = {}): OpenLog {
  return isReadable ? readableLog(file) : jsonLog(file);
}

function jsonLog(file: string | undefined): OpenLog {
  const dest = file === undefined ? process.stdout.fd : openSync(file, 'a', 0o640);
  const destination = pino.destination({ dest, sync: false });
  // The destination works on each piece that it is given; a batch is many lines in one piece.
  let batch = '';
  const handOver = (): void => {
    if (batch !== '') destination.write(batch);
    batch = '';
  };
  const flush = (): void => {
    handOver();
    destination.flushSync();
  };
  const logger = createLogger({
    write(line) {
      batch += line;
      if (batch.length >= batchedCharacters) handOver();
    },
  });
  const timer = setInterval(handOver, flushIntervalMs).unref();
  process.once('exit', flush);
  return {
    info: (record) => logger.info(record),
    error: (record) => logger.error(record),
    flush,
    close: () => {
      clearInterval(timer);
      process.off('exit', flush);
      flush();
      if (file !== undefined) destination.end();
    },
  };
}

function readableLog(file: string | undefined): OpenLog {
  const stream = pretty({
    destination: file ?? 1,
    sync: true,
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'pid,hostname,mechanism,phase,method,url,event',
    messageFormat: '{if event}{event}{end}{if mechanism}{mechanism} {phase} {method} {url}{end}',
  });
  const logger = createLogger(stream);
  return {
    info: (record) => logger.info(record),
    error: (record) => logger.error(record),
    flush: () => undefined,
    close: () => stream.end(),
  };
}

function createLogger(destination: DestinationStream): Log {
  return pino({ base: null, timestamp, serializers: { error: pino.stdSerializers.err } }, destination);
}

let timeMs = 0;
let timeText = '';

/** The time as ISO 8601, put into words once a millisecond. */
function timestamp(): string {
  const nowMs = Date.now();
  if (nowMs !== timeMs) {
    timeMs = nowMs;
    timeText = `,"time":"${new Date(nowMs).toISOString()}"`;
  }
  return timeText;
}
