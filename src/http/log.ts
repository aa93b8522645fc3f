// Writes records: readable lines on a terminal, else JSON lines in batches, at most a fifth of a second late.
import { closeSync } from 'node:fs';
import { pino, type DestinationStream } from 'pino';

import {
  checkOptions,
  guardCallback,
  hasMethods,
  isFlag,
  isText,
  type OptionChecks,
} from '../errors/check-options.ts';
import { escapeControls } from '../errors/untrusted-text.ts';
import { createBatchWriter, type BatchWriter } from './batch-writer.ts';
import { formatRecord } from './format-record.ts';
import { openLogFile } from './log-file.ts';

/** What the service needs of a logger, such as pino's. */
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

/** A log that this process writes. */
export interface OpenLog extends Log {
  flush(): void;
  /**
   * Opens the file anew after log rotation; does nothing without a file.
   *
   * @throws {DeskbellError} ERR_FILE; records then go to the old file
   */
  reopen(): void;
  /** Writes buffered records and closes the file. */
  close(): void;
}

/** Options of `createLog`. */
export interface LogOptions {
  /** Path of a file to append to. Default: standard output. */
  readonly file?: string | undefined;
  /** Readable lines instead of JSON. Default: true if standard output is a terminal. */
  readonly isReadable?: boolean | undefined;
}

const logChecks: OptionChecks<LogOptions> = { file: isText, isReadable: isFlag };

/** @throws {DeskbellError} ERR_CONFIGURATION, ERR_FILE */
export function createLog(options: LogOptions = {}): OpenLog {
  checkOptions(options, logChecks);
  const { file, isReadable = file === undefined && process.stdout.isTTY } = options;
  let fd = file === undefined ? process.stdout.fd : openLogFile(file);
  const writer = createBatchWriter(fd);
  const logger = pino(
    { base: null, timestamp: createTimestamp(), serializers: { error: pino.stdSerializers.err } },
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
    write(line) {
      // the file may be read on a terminal
      writer.write(isReadable ? formatRecord(line) : `${escapeControls(line.slice(0, -1))}\n`);
      if (isReadable) writer.flush();
    },
  };
}
