// Splits text into lines, and a CSV table (RFC 4180) into rows, keeping one in memory at a time. If a quotation mark is
// not closed, or is closed in a later row, only its own row is lost. The lines after that row are read again.

export interface Line {
  /** The number of the line, counted from 1. */
  readonly number: number;
  /** The line without its line end; `undefined` if the line is longer than the limit. */
  readonly text: string | undefined;
}

/** Yields all lines, including empty ones. */
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

export interface TableRow {
  /** The number of the row, counted from 1. The header counts as a row. */
  readonly number: number;
  readonly text: string | undefined;
  /** `undefined` if the row does not fit the table. */
  readonly cells: readonly string[] | undefined;
}

/** Quotation marks count only if they begin a cell. @returns undefined if text follows a closing quotation mark */
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
  /** The column with the endpoint, or with JSON. */
  readonly mainColumn: number;
  /** Maximum length of a row. If a row seems longer, a stray quotation mark has joined several rows. */
  readonly maxCharacters: number;
}

/** @param lines the lines after the header */
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
      // a line without a quotation mark cannot close an open cell
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

/** Whether a stray quotation mark has turned several rows into one cell. */
function hasRowsInCells(lines: readonly string[], cells: readonly string[], form: TableForm): boolean {
  const { separator, columns, mainColumn } = form;
  if (lines.length === 1) return false;
  const main = cells[mainColumn] ?? '';
  if (main.includes('\n') && !main.startsWith('{')) return true;
  return lines.slice(0, -1).some((line, index) => {
    const parts = line.split(separator);
    if (parts.length !== columns || !/^"?(?:https?:\/\/|\{)/.test(parts[mainColumn]!)) return false;
    // in the first line, a URL before the unclosed quotation mark is the row's own, not another row's
    return index > 0 || (splitCells(line, separator)?.cells.length ?? 0) < mainColumn;
  });
}
