// Where the service's records go: JSON lines, or readable lines on a terminal. JSON lines are written in batches: they
// are out after a fifth of a second, and when the process ends.
import { closeSync, openSync } from 'node:fs';
import { pino, type DestinationStream } from 'pino';
import pretty from 'pino-pretty';

import { createBatchWriter } from './batch-writer.ts';

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

export function createLog({
  file,
  isReadable = file === undefined && process.stdout.isTTY,
}: LogOptions = {}): OpenLog {
  return isReadable ? readableLog(file) : jsonLog(file);
}

function jsonLog(file: string | undefined): OpenLog {
  const fd = file === undefined ? process.stdout.fd : openSync(file, 'a', 0o640);
  const writer = createBatchWriter(fd);
  const logger = createLogger(writer);
  return {
    info: (record) => logger.info(record),
    error: (record) => logger.error(record),
    flush: () => writer.flush(),
    close() {
      writer.close();
      if (file !== undefined) closeSync(fd);
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
