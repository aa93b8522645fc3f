// Writes log records: readable lines on a terminal, otherwise JSON lines in batches, at least every 200 ms.
import { closeSync, constants, fchmodSync, fstatSync, openSync, writeSync } from 'node:fs';
import { inspect } from 'node:util';
import { isNativeError } from 'node:util/types';
import { type DestinationStream, pino } from 'pino';
import {
  checkOptions,
  guardCallback,
  hasMethods,
  isFlag,
  isText,
  type OptionChecks,
} from '../errors/check-options.ts';
import { DeskbellError } from '../errors/deskbell-error.ts';
import { escapeControls, hideBellSecrets } from '../errors/untrusted-text.ts';

/** A logger, whose methods the service calls to write log records. You can use a logger of pino, for example. */
export interface Log {
  info(record: object): void;
  error(record: object): void;
  /** Writes buffered records, if there are any. */
  flush?(): void;
}

export const isLog = hasMethods('an object with the functions info and error', ['info', 'error']);

/** Wraps an application's log: if it throws, only its records are lost. */
export const guardLog = (log: Log): Log => ({
  info: guardCallback('log.info', (record) => log.info(record)),
  error: guardCallback('log.error', (record) => log.error(record)),
  flush: guardCallback('log.flush', () => log.flush?.()),
});

/** A log that `createLog` opened, with output to a file or to standard output. */
export interface OpenLog extends Log {
  flush(): void;
  /**
   * Reopens the file after log rotation; does nothing without a file.
   *
   * @throws {DeskbellError} ERR_FILE; records then go to the old file
   */
  reopen(): void;
  /** Writes buffered records and closes the file. */
  close(): void;
}

/** `createLog` takes these options. */
export interface LogOptions {
  /** Path of a file to append to. Default: standard output. */
  readonly file?: string | undefined;
  /** Readable lines instead of JSON. Default: true if standard output is a terminal. */
  readonly isReadable?: boolean | undefined;
}

const logChecks: OptionChecks<LogOptions> = { file: isText, isReadable: isFlag };

/**
 * Opens a log, which writes to a file or to standard output.
 *
 * @throws {DeskbellError} ERR_CONFIGURATION, ERR_FILE
 */
export function createLog(options: LogOptions = {}): OpenLog {
  checkOptions(options, logChecks);
  const { file, isReadable = file === undefined && process.stdout.isTTY } = options;
  let fd = file === undefined ? process.stdout.fd : openLogFile(file);
  const writer = createBatchWriter(fd);
  const logger = pino(
    { base: null, timestamp: createTimestamp(), serializers: { error: serializeThrown } },
    linesTo(writer, isReadable),
  );
  return {
    info: (record) => logger.info(record),
    error: (record) => logger.error(record),
    flush: () => writer.flush(),
    reopen() {
      if (file === undefined) return;
      const reopened = openLogFile(file);
      writer.redirect(reopened);
      closeSync(fd);
      fd = reopened;
    },
    close() {
      writer.close();
      if (file !== undefined) closeSync(fd);
    },
  };
}

/** Formatting a time takes microseconds, so records of the same millisecond share the text. */
function createTimestamp(): () => string {
  let madeForMs: number | undefined;
  let member = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs !== madeForMs) {
      madeForMs = nowMs;
      member = `,"time":"${new Date(nowMs).toISOString()}"`;
    }
    return member;
  };
}

function linesTo(writer: BatchWriter, isReadable: boolean): DestinationStream {
  return {
    write(record) {
      // a bell's URL contains its secret, and any listener may receive a request for it
      const line = hideBellSecrets(record);
      writer.write(isReadable ? formatRecord(line) : `${escapeControls(line.slice(0, -1))}\n`);
      if (isReadable) writer.flush();
    },
  };
}

/** Serializes what a callback of the application threw, which can be any value. */
const serializeThrown = (thrown: unknown): object =>
  isNativeError(thrown) ? pino.stdSerializers.err(thrown) : { stack: inspect(thrown) };

// Log records as lines for people: time, level, event, other members as JSON, and an error's stack below.

interface LogRecord {
  /** Levels have pino's numbers: 30 is info, 50 is error. */
  readonly level: number;
  readonly time: string;
  readonly event?: string;
  readonly mechanism?: string;
  readonly phase?: string;
  readonly method?: string;
  readonly url?: string;
  readonly error?: { readonly stack: string };
}

function formatRecord(json: string): string {
  const { level, time, event, mechanism, phase, method, url, error, ...members } = JSON.parse(
    json,
  ) as LogRecord;
  const words = [
    timeOfDay(new Date(time)),
    level >= 50 ? 'ERROR' : 'INFO ',
    ...[event, mechanism, phase, method, url].filter((word) => word !== undefined),
  ];
  if (Object.keys(members).length > 0) words.push(JSON.stringify(members));
  const stack = error === undefined ? [] : error.stack.split('\n').map((line) => `    ${line}`);
  return [words.join(' '), ...stack].map((line) => `${escapeControls(line)}\n`).join('');
}

/** `09:05:07.042`, in the local time zone. */
function timeOfDay(date: Date): string {
  const parts = [date.getHours(), date.getMinutes(), date.getSeconds()];
  const clock = parts.map((part) => String(part).padStart(2, '0')).join(':');
  return `${clock}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

// Writes lines to a descriptor in order, in batches of about a hundred records. Writing is synchronous, so nothing is
// in flight when the process ends. If a batch cannot be written, its records are lost.

export type BatchWriter = ReturnType<typeof createBatchWriter>;

const batchCharacters = 16_384;
const flushIntervalMs = 200;
/** If more output than this waits for a slow reader, all waiting output is dropped. */
const maxWaitingBytes = 16 * 1024 * 1024;

/** One exit listener serves all open writers, because Node warns if there are more than ten listeners. */
const flushes = new Set<() => void>();
const flushAll = (): void => flushes.forEach((flush) => flush());

export function createBatchWriter(firstFd: number) {
  let fd = firstFd;
  let batch = '';
  let rest: Buffer = Buffer.alloc(0);
  let isWarned = false;

  const drop = (why: string): void => {
    rest = Buffer.alloc(0);
    if (!isWarned) process.emitWarning(`Log records are lost: ${why}`);
    isWarned = true;
  };
  const flush = (): void => {
    const bytes = Buffer.concat([rest, Buffer.from(batch)]);
    batch = '';
    if (bytes.length === 0) return;
    try {
      rest = bytes.subarray(writeSync(fd, bytes));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'EAGAIN') return drop(message);
      rest = bytes;
    }
    if (rest.length > maxWaitingBytes) drop('their reader does not keep up.');
  };
  const timer = setInterval(flush, flushIntervalMs).unref();
  if (flushes.size === 0) process.once('exit', flushAll);
  flushes.add(flush);
  return {
    write(line: string): void {
      batch += line;
      if (batch.length >= batchCharacters) flush();
    },
    flush,
    redirect(nextFd: number): void {
      flush();
      fd = nextFd;
    },
    close(): void {
      clearInterval(timer);
      flushes.delete(flush);
      if (flushes.size === 0) process.off('exit', flushAll);
      flush();
    },
  };
}

// The log file. Some records contain endpoints and keys, so other users must not be able to read the file.

const ownerOnly = 0o600;
const othersMask = 0o007;

/**
 * Opens a file for appending. A new file is readable only by its owner. For an existing file,
 * other users lose all rights, and the group keeps its rights.
 *
 * @throws {DeskbellError} ERR_FILE
 */
function openLogFile(path: string): number {
  const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants;
  let fd: number | undefined;
  try {
    // Without O_NONBLOCK, a pipe without a reader would block the process here.
    fd = openSync(path, O_APPEND | O_CREAT | O_NONBLOCK | O_WRONLY, ownerOnly);
    const status = fstatSync(fd);
    if (status.isFile() && (status.mode & othersMask) !== 0)
      fchmodSync(fd, status.mode & 0o7777 & ~othersMask);
    return fd;
  } catch (cause) {
    if (fd !== undefined) closeSync(fd);
    const what =
      fd === undefined
        ? `The log file ${path} cannot be written`
        : `All users may read the log file ${path}, and that cannot be changed`;
    throw new DeskbellError('ERR_FILE', what, { cause });
  }
}
