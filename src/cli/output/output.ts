// Where commands write: results to standard output, diagnostics to standard error. If standard output fails, as with
// `… | head` or a full disk, the command is notified once, and further output is dropped.
import { once } from 'node:events';
import { styleText } from 'node:util';
import { escapeControls } from '../../errors/untrusted-text.ts';

// Makes text safe for a terminal. Line ends and our own styles are kept; every other control character is escaped.

type Style = Parameters<typeof styleText>[0];

const escapeCharacter = '\u001b';
/** Matches line ends, and sequences of ECMA-48 §8.3.117 in the form that `styleText` writes. */
const candidates = new RegExp(`(\n|${escapeCharacter}\\[\\d+m)`);

export function createPrinter(stream: NodeJS.WritableStream) {
  const own = new Set(['\n']);
  return {
    style(style: Style, text: string): string {
      const styled = styleText(style, escapeControls(text), { stream });
      for (const part of styled.split(candidates)) if (part.startsWith(escapeCharacter)) own.add(part);
      return styled;
    },
    toPrintable: (text: string): string =>
      text
        .split(candidates)
        .map((part) => (own.has(part) ? part : escapeControls(part)))
        .join(''),
  };
}

export interface JsonFlag {
  readonly json?: boolean | undefined;
}

export interface Table<Row> {
  readonly rows: Iterable<Row> | AsyncIterable<Row>;
  toJson(row: Row): object;
  toText(row: Row): string;
  /** Printed above the rows, if there are any; never with `--json`. */
  readonly header?: string;
  /** Printed if there are no rows. */
  readonly ifEmpty?: string;
}

/** A negative width aligns the column to the right. */
export type Column<Row> = readonly [heading: string, width: number, textOf: (row: Row) => string];

/** A table with aligned columns. */
export function inColumns<Row>(columns: readonly Column<Row>[]): Pick<Table<Row>, 'header' | 'toText'> {
  const toLine = (textOf: (column: Column<Row>) => string): string =>
    columns
      .map((column) => {
        const [, width] = column;
        return width < 0 ? textOf(column).padStart(-width) : textOf(column).padEnd(width);
      })
      .join('  ')
      .trimEnd();
  return {
    header: toLine(([heading]) => heading),
    toText: (row) => toLine(([, , textOf]) => textOf(row)),
  };
}

export interface Output {
  /** Writes one line of the result. Resolves when the stream accepts more, so that a slow reader slows the command. */
  line(text: string): Promise<void>;
  /** Writes a result as JSON with `--json`, otherwise as text. */
  result(flags: JsonFlag, value: object, text: string): Promise<void>;
  /** Writes a line for each row: JSON Lines with `--json`. */
  table<Row>(flags: JsonFlag, table: Table<Row>): Promise<void>;
  /** Writes one line to standard error. */
  diagnostic(text: string): void;
  /** On a terminal, shows a line that the next output replaces. An empty string removes the line. */
  live(text: string): void;
  /** Returns `text` in a style if standard output is a terminal that shows styles. */
  style(style: Style, text: string): string;
  /** True if standard output is a terminal. */
  readonly isTerminal: boolean;
}

/** @param onClosed called once, when standard output cannot be written; `EPIPE` if its reader has gone */
export function createOutput(
  { stdout, stderr }: Pick<NodeJS.Process, 'stdout' | 'stderr'>,
  onClosed: (error: NodeJS.ErrnoException) => void,
): Output {
  const { style, toPrintable } = createPrinter(stdout);
  let isClosed = false;
  let drained: Promise<unknown> | undefined;
  let hasLiveLine = false;
  const clearLive = (): string => {
    const clear = hasLiveLine ? '\r\u001b[K' : '';
    hasLiveLine = false;
    return clear;
  };
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isClosed) return;
    isClosed = true;
    onClosed(error);
  });
  // A failure of standard error cannot be reported anywhere.
  stderr.on('error', () => {});

  const output: Output = {
    async line(text) {
      if (isClosed || stdout.write(`${clearLive()}${toPrintable(text)}\n`)) return;
      // all writers wait for the same event
      drained ??= once(stdout, 'drain')
        .catch(() => {})
        .finally(() => (drained = undefined));
      await drained;
    },
    result: ({ json }, value, text) => output.line(json ? JSON.stringify(value) : text),
    async table({ json }, { rows, toJson, toText, header, ifEmpty }) {
      let isEmpty = true;
      for await (const row of rows) {
        if (isEmpty && header !== undefined && !json) await output.line(style('dim', header));
        isEmpty = false;
        await output.line(json ? JSON.stringify(toJson(row)) : toText(row));
      }
      if (isEmpty && ifEmpty !== undefined && !json) output.diagnostic(ifEmpty);
    },
    diagnostic(text) {
      const clear = clearLive();
      if (clear !== '' && !isClosed) stdout.write(clear);
      stderr.write(`${toPrintable(text)}\n`);
    },
    live(text) {
      if (!stdout.isTTY || isClosed) return;
      // Clearing the live line would leave the rest of a wrapped line, so the text is cut.
      stdout.write(`${clearLive()}${toPrintable(text).slice(0, stdout.columns - 1)}`);
      hasLiveLine = text !== '';
    },
    style,
    isTerminal: stdout.isTTY,
  };
  return output;
}
