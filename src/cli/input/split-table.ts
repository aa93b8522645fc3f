// Splits a text into lines, with one of them in memory at a time.

export interface Line {
  /** From 1. */
  readonly number: number;
  /** Without its line end; `undefined` for a line that is longer than the limit. */
  readonly text: string | undefined;
}

/** Empty lines come too. */
export async function* splitLines(
  chunks: AsyncIterable<string>,
  maxCharacters: number,
): AsyncGenerator<Line, undefined> {
  let number = 0;
  let text = '';
  let isTooLong = false;
  const end = (rest: string): Line => {
    const line = text + rest;
    const isWhole = !isTooLong && line.length <= maxCharacters;
    text = '';
    isTooLong = false;
    number += 1;
    return { number, text: isWhole ? line.replace(/\r$/, '') : undefined };
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let at = chunk.indexOf('\n'); at !== -1; at = chunk.indexOf('\n', start)) {
      yield end(chunk.slice(start, at));
      start = at + 1;
    }
    if (!isTooLong) text += chunk.slice(start);
    if (text.length > maxCharacters) {
      isTooLong = true;
      text = '';
    }
  }
  if (text !== '' || isTooLong) yield end('');
  return undefined;
}

// Splits a table in CSV (RFC 4180) into its rows. A quotation mark that is never closed, or that is closed in a later row, costs its
// own row alone: what follows it is read again, line by line.

export interface TableRow {
  /** From 1, the header included. */
  readonly number: number;
  readonly text: string | undefined;
  /** `undefined` for one that is no row of this table. */
  readonly cells: readonly string[] | undefined;
}

/** Quotation marks mean something only at the beginning of a cell. @returns undefined for cells with text after a closed quotation */
export function splitCells(
  record: string,
  separator: string,
): { readonly cells: readonly string[]; readonly isOpen: boolean } | undefined {
  const cells: string[] = [];
  for (let at = 0; at <= record.length;) {
    let end: number;
    if (record[at] === '"') {
      const quoted = /"[^"]*(?:""[^"]*)*"(?!")/y;
      quoted.lastIndex = at;
      if (!quoted.test(record)) return { cells, isOpen: true };
      end = quoted.lastIndex;
      if (end < record.length && record[end] !== separator) return undefined;
      cells.push(record.slice(at + 1, end - 1).replaceAll('""', '"'));
    } else {
      end = record.indexOf(separator, at);
      if (end === -1) end = record.length;
      cells.push(record.slice(at, end));
    }
    at = end + 1;
  }
  return { cells, isOpen: false };
}

export interface TableForm {
  readonly separator: string;
  readonly columns: number;
  /** The column that each row has an endpoint in, or JSON. */
  readonly mainColumn: number;
  /** Of a row: one that goes on for longer has a quotation mark too many. */
  readonly maxCharacters: number;
}

/** @param lines those after the header */
export async function* splitTable(lines: AsyncIterable<Line>, form: TableForm): AsyncGenerator<TableRow> {
  const { separator, columns, maxCharacters } = form;
  let number = 1;
  let held: string[] = [];
  let characters = 0;
  const row = (text: string | undefined, cells?: readonly string[]): TableRow => ({
    number: ++number,
    text,
    cells,
  });
  function* read(waiting: string[], isEnd: boolean): Generator<TableRow> {
    for (;;) {
      const next = waiting.shift();
      if (next === undefined && !(isEnd && held.length > 0)) return;
      if (next === '' && held.length === 0) continue;
      if (next !== undefined) {
        held.push(next);
        characters += next.length + 1;
      }
      const isLong = characters > maxCharacters || next === undefined;
      // a line without a quotation mark closes none
      if (next !== undefined && held.length > 1 && !isLong && !next.includes('"')) continue;
      const record = held.join('\n');
      const split = splitCells(record, separator);
      if (split?.isOpen === true && !isLong) continue;
      const isRow =
        split?.isOpen === false &&
        split.cells.slice(columns).every((cell) => cell === '') &&
        !hasRowsInCells(held, split.cells, form);
      const [first, ...rest] = held;
      held = [];
      characters = 0;
      if (isRow) yield row(record, split.cells);
      else {
        yield row(first);
        waiting.unshift(...rest);
      }
    }
  }
  for await (const { text } of lines) {
    if (text !== undefined) yield* read([text], false);
    else yield row(undefined);
  }
  yield* read([], true);
}

/** Whether lines of a row are rows themselves, which a quotation mark too many has made parts of a cell. */
function hasRowsInCells(lines: readonly string[], cells: readonly string[], form: TableForm): boolean {
  const { separator, columns, mainColumn } = form;
  if (lines.length === 1) return false;
  const main = cells[mainColumn] ?? '';
  if (main.includes('\n') && !main.startsWith('{')) return true;
  return lines.slice(0, -1).some((line, index) => {
    const parts = line.split(separator);
    if (parts.length !== columns || !/^"?(?:https?:\/\/|\{)/.test(parts[mainColumn]!)) return false;
    // of the first line, what is before the cell that goes on belongs to the row
    return index > 0 || (splitCells(line, separator)?.cells.length ?? 0) < mainColumn;
  });
}
