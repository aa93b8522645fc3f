// Reads files given to commands, and standard input for "-". Decoding is strict: an invalid byte is an error.
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { text as toText } from 'node:stream/consumers';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Context } from '../command.ts';

interface DecodeOptions {
  /** The name of the file, with which an error message begins. */
  readonly label: string;
  /** Any encoding that `TextDecoder` knows. Default: UTF-16 if the text begins like UTF-16, otherwise UTF-8. */
  readonly encoding?: string | undefined;
  /** Whether the command has the flag `--encoding`. */
  readonly hasFlag?: boolean;
}

/** Types of files that are not text, recognised by their first bytes in hexadecimal. */
const otherFiles: readonly (readonly [start: RegExp, is: string, remedy: string])[] = [
  [/^1f8b/, 'compressed with gzip', 'Decompress it first: zcat FILE | deskbell … -'],
  [/^504b0304/, 'a ZIP archive or an Excel workbook', 'Unpack it, or save the workbook as "CSV UTF-8".'],
  [/^53514c69746520/, 'a SQLite database', 'Export the table: sqlite3 -header -csv FILE "select …"'],
];

/** Number of bytes that are enough to recognise a type of file, or UTF-16 with or without a byte order mark. */
const shownBytes = 8;

/**
 * @returns the text without its byte order mark
 * @throws {DeskbellError} ERR_FILE; for an invalid byte, the error names the line, the byte and the likely encoding
 */
export async function* decodeText(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: DecodeOptions,
): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined;
  let waiting = Buffer.alloc(0);
  let position = 0;
  let line = 1;
  const decode = async (isEnd: boolean): Promise<string> => {
    decoder ??= createDecoder(waiting.toString('hex', 0, shownBytes), options);
    const bytes = waiting.subarray(0, isEnd ? waiting.length : wholeCharacters(waiting, decoder.encoding));
    waiting = waiting.subarray(bytes.length);
    try {
      const text = decoder.decode(bytes, { stream: !isEnd });
      position += bytes.length;
      line += countLines(text);
      return text;
    } catch {
      throw await describeFault(bytes, decoder.encoding, { position, line }, options);
    }
  };
  for await (const chunk of chunks) {
    waiting = waiting.length === 0 ? Buffer.from(chunk) : Buffer.concat([waiting, chunk]);
    if (decoder !== undefined || waiting.length >= shownBytes) yield await decode(false);
  }
  yield await decode(true);
}

function createDecoder(start: string, { label, encoding }: DecodeOptions): TextDecoder {
  const [, is, remedy] = otherFiles.find(([shown]) => shown.test(start)) ?? [];
  if (is !== undefined) throw new DeskbellError('ERR_FILE', `${label} is ${is}`, { remedy: remedy! });
  return new TextDecoder(encoding ?? shownEncoding(start), { fatal: true });
}

function shownEncoding(start: string): string {
  if (/^(fffe|(?!00)..00(?!00)..00)/.test(start)) return 'utf-16le';
  return /^(feff|00(?!00)..00(?!00))/.test(start) ? 'utf-16be' : 'utf-8';
}

/** Returns how many bytes come before an incomplete UTF-8 character at the end. */
function wholeCharacters(bytes: Uint8Array, encoding: string): number {
  if (encoding !== 'utf-8') return bytes.length;
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back]!;
    if (byte < 0x80) break;
    // the first byte of a character gives its length
    if (byte >= 0xc0)
      return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

async function describeFault(
  bytes: Uint8Array,
  encoding: string,
  before: { readonly position: number; readonly line: number },
  { label, hasFlag = false, encoding: asked }: DecodeOptions,
): Promise<DeskbellError> {
  const { index, text } = findFault(bytes, encoding);
  const { detect } = await import('chardet');
  const likely = knownEncoding(detect(bytes) ?? '') ?? 'windows-1252';
  const byte = bytes[index]?.toString(16).toUpperCase().padStart(2, '0');
  const where =
    byte === undefined
      ? 'it ends within a character'
      : `the byte 0x${byte} at position ${before.position + index + 1}`;
  const choice =
    likely === encoding || likely === 'utf-8'
      ? 'Save it as UTF-8.'
      : hasFlag
        ? `It looks like ${likely}: import it with --encoding ${likely} and check a name with an accent, or save it as UTF-8.`
        : `It looks like ${likely}: save it as UTF-8.`;
  return new DeskbellError(
    'ERR_FILE',
    `${label} is not in ${asked ?? encoding.toUpperCase()}: line ${before.line + countLines(text)} has ${where}`,
    { remedy: choice },
  );
}

/** Decodes byte by byte. @returns the position of the first invalid byte, and the text before it */
function findFault(bytes: Uint8Array, encoding: string): { readonly index: number; readonly text: string } {
  const decoder = new TextDecoder(encoding, { fatal: true });
  let text = '';
  let first = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    try {
      const decoded = decoder.decode(bytes.subarray(index, index + 1), { stream: true });
      if (decoded !== '') first = index + 1;
      text += decoded;
    } catch {
      return { index: first, text };
    }
  }
  return { index: bytes.length, text };
}

const countLines = (text: string): number => text.split('\n').length - 1;

/** @returns the encoding's name in `TextDecoder`; undefined if it is unknown */
export function knownEncoding(name: string): string | undefined {
  try {
    return new TextDecoder(name).encoding;
  } catch {
    return undefined;
  }
}

type Sources = Pick<Context, 'input' | 'stop'>;

const labelOf = (file: string): string => (file === '-' ? 'Standard input' : file);

/** @throws {DeskbellError} ERR_FILE, or `stop.reason` once `stop` is aborted */
export async function* readBytes(file: string, { input, stop }: Sources): AsyncGenerator<Uint8Array> {
  try {
    yield* addAbortSignal(stop, file === '-' ? input : createReadStream(file)) as AsyncIterable<Buffer>;
  } catch (cause) {
    throw stop.aborted
      ? stop.reason
      : new DeskbellError('ERR_FILE', `${labelOf(file)} cannot be read`, { cause });
  }
}

/** The text of a file, in pieces. @throws {DeskbellError} as `readBytes` and `decodeText` do */
export const readInput = (
  file: string,
  sources: Sources,
  options: Omit<DecodeOptions, 'label'> = {},
): AsyncGenerator<string> => decodeText(readBytes(file, sources), { label: labelOf(file), ...options });

/**
 * Reads a small text file.
 *
 * @param label name of the file in errors
 * @throws {DeskbellError} ERR_FILE
 */
export async function readTextFile(path: string, label = path): Promise<string> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new DeskbellError('ERR_FILE', `${label} cannot be read`, { cause });
  });
  return toText(decodeText([bytes], { label }));
}
