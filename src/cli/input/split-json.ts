// Splits text into JSON values, keeping one in memory at a time (RFC 8259, JSON Lines, several arrays, objects over
// several lines). Each element of an array is a value of its own, at any depth. If an object is longer than a row may
// be, each of its members is a value of its own too. A damaged value ends where the next begins, so that no other value
// is lost. Values are not parsed here.

/** A part of a file that is, or should be, a row. */
export interface Piece {
  /**
   * The number of the line on which the piece begins. In a container, the piece's number among all pieces in
   * containers. Counted from 1.
   */
  readonly number: number;
  /** `undefined` if the text is longer than the limit. */
  readonly text: string | undefined;
}

/**
 * A container of values: an array, or an object that exceeds the maximum length of a row. Its members are read one by
 * one.
 */
interface Container {
  readonly bracket: string;
  readonly number: number;
  pieces: number;
}

const closingOf: Readonly<Record<string, string>> = { '{': '}', '[': ']' };
/** White space and commas between values. */
const between = /[\s,\u{feff}]*/uy;

export class JsonSplitter {
  readonly #maxCharacters: number;
  #text = '';
  #at = 0;
  /** Start of the current value; -1 between values. */
  #start = -1;
  #open: string[] = [];
  /** The last character of the value that is not white space. */
  #last = '';
  readonly #containers: Container[] = [];
  #elements = 0;
  /** The number of the line that contains the position `#counted`. */
  #line = 1;
  #counted = 0;
  /** Skips the rest of a damaged or overlong value. */
  #skips: 'to the next line' | 'to the end of the string' | undefined;

  constructor(maxCharacters: number) {
    this.#maxCharacters = maxCharacters;
  }

  /** Whether the text ended within an array, or within an overlong object. */
  get isCutOff(): boolean {
    return this.#containers.length > 0;
  }

  *add(text: string): Generator<Piece> {
    this.#drop();
    this.#text += text;
    yield* this.#read(false);
  }

  *end(): Generator<Piece> {
    yield* this.#read(true);
  }

  *#read(isEnd: boolean): Generator<Piece> {
    for (;;) {
      if (!this.#skip(isEnd)) return;
      if (this.#start === -1) {
        if (!(yield* this.#readBetween(isEnd))) return;
      } else if (!(yield* this.#readWithin(isEnd))) return;
    }
  }

  /** Reads text that is outside of objects. @returns false if more text is needed */
  *#readBetween(isEnd: boolean): Generator<Piece, boolean> {
    between.lastIndex = this.#at;
    this.#at += between.exec(this.#text)![0].length;
    const character = this.#text[this.#at];
    const container = this.#containers.at(-1);
    if (character === undefined) return false;
    if (character === '{') {
      this.#start = this.#at;
      this.#open = [];
      return true;
    }
    if (character === '[') this.#openContainer(character, this.#numberAt(this.#at));
    else if (container !== undefined && '}]'.includes(character)) {
      if (closingOf[container.bracket] === character) yield* this.#closeContainer();
    } else if (container?.bracket !== '{' || character !== ':') return yield* this.#readScalar(isEnd);
    this.#at += 1;
    return true;
  }

  /**
   * Reads a string, a number or invalid text. Directly in an overlong object, the text is a name, or a value that is
   * not a row.
   */
  *#readScalar(isEnd: boolean): Generator<Piece, boolean> {
    const isInObject = this.#containers.at(-1)?.bracket === '{';
    const isString = this.#text[this.#at] === '"';
    let end = isString ? this.#endOfString(this.#at) : this.#endOfScalar();
    if (end === 'line') end = this.#text.indexOf('\n', this.#at);
    if (end === undefined || (end === this.#text.length && !isEnd)) {
      if (this.#text.length - this.#at <= this.#maxCharacters && !isEnd) return false;
      if (isEnd) end = this.#text.length;
      else {
        if (!isInObject) yield this.#piece(this.#at, undefined);
        this.#skips = isString ? 'to the end of the string' : 'to the next line';
        this.#at += 1;
        return true;
      }
    }
    if (!isInObject) yield this.#piece(this.#at, end);
    this.#at = end;
    return true;
  }

  /** Reads within an object. */
  *#readWithin(isEnd: boolean): Generator<Piece, boolean> {
    while (this.#at < this.#text.length) {
      if (this.#at - this.#start > this.#maxCharacters) return this.#takeApart();
      const character = this.#text[this.#at]!;
      switch (character) {
        case '"': {
          const end = this.#endOfString(this.#at);
          if (end === 'line') return yield* this.#endDamaged(this.#text.indexOf('\n', this.#at));
          if (end === undefined) {
            if (this.#text.length - this.#start > this.#maxCharacters) return this.#takeApart();
            return isEnd ? yield* this.#endDamaged(this.#text.length) : false;
          }
          this.#at = end - 1;
          break;
        }
        case '{':
        case '[':
          if (!this.#mayOpen()) return yield* this.#endDamaged(this.#at);
          this.#open.push(character);
          break;
        case '}':
        case ']':
          if (closingOf[this.#open.pop()!] !== character) return yield* this.#endDamaged(this.#at);
          if (this.#open.length === 0) {
            this.#at += 1;
            yield this.#piece(this.#start, this.#at);
            this.#start = -1;
            return true;
          }
      }
      if (!/\s/.test(character)) this.#last = character;
      this.#at += 1;
    }
    return isEnd ? yield* this.#endDamaged(this.#text.length) : false;
  }

  /** False where no object or array can begin: after a value, and where a name must follow. */
  #mayOpen(): boolean {
    const within = this.#open.at(-1);
    return within === undefined || (within === '{' ? this.#last === ':' : '[,'.includes(this.#last));
  }

  /** Splits an object that is too long, so that its members become separate values. */
  #takeApart(): boolean {
    this.#openContainer('{', this.#numberAt(this.#start));
    this.#at = this.#start + 1;
    this.#start = -1;
    return true;
  }

  /** Ends a damaged value before the next line that begins another value, or at `limit` if that comes first. */
  *#endDamaged(limit: number): Generator<Piece, boolean> {
    const next = /\n[\s,]*(?=[[{])/g;
    next.lastIndex = this.#start + 1;
    const found = next.exec(this.#text);
    const end = found !== null && next.lastIndex < limit ? found.index : limit;
    yield this.#piece(this.#start, end);
    this.#start = -1;
    this.#at = end;
    if (end === limit && !'[{]}'.includes(this.#text[limit] ?? '\n')) this.#skips = 'to the next line';
    return true;
  }

  /** @returns false if more text is needed */
  #skip(isEnd: boolean): boolean {
    if (this.#skips === undefined) return true;
    if (this.#skips === 'to the end of the string') {
      const end = this.#endOfString(this.#at - 1);
      if (end !== undefined) this.#skips = undefined;
      this.#at = end === 'line' ? this.#text.indexOf('\n', this.#at) : (end ?? this.#text.length);
      return end !== undefined;
    }
    const next =
      this.#containers.at(-1)?.bracket === '{'
        ? /\n[^\S\n]*(?=[[{\]}]|"[^"\n]*"\s*:\s*[[{])/g
        : /\n[^\S\n]*(?=[[{\]])/g;
    next.lastIndex = this.#at;
    if (next.test(this.#text)) {
      this.#at = next.lastIndex;
      this.#skips = undefined;
      return true;
    }
    const lineEnd = this.#text.lastIndexOf('\n');
    this.#at = isEnd || lineEnd < this.#at ? this.#text.length : lineEnd;
    return false;
  }

  /** @returns where the string at `start` ends; 'line' if the line ends first, undefined if the text ends first */
  #endOfString(start: number): number | 'line' | undefined {
    for (let at = start + 1; at < this.#text.length; at += 1) {
      const code = this.#text.charCodeAt(at);
      if (code === 0x22) return at + 1;
      if (code === 0x5c) at += 1;
      else if (code === 0x0a) return 'line';
    }
    return undefined;
  }

  #endOfScalar(): number {
    const end = this.#containers.length === 0 ? /\n/g : /[\n,:\]}]/g;
    end.lastIndex = this.#at;
    return end.exec(this.#text)?.index ?? this.#text.length;
  }

  #openContainer(bracket: string, number: number): void {
    this.#containers.push({ bracket, number, pieces: 0 });
  }

  *#closeContainer(): Generator<Piece> {
    const { bracket, pieces, number } = this.#containers.pop()!;
    // an object that is too long for a row and contains no rows
    if (bracket === '{' && pieces === 0) yield { number, text: undefined };
    const around = this.#containers.at(-1);
    if (around) around.pieces += pieces;
  }

  #piece(start: number, end: number | undefined): Piece {
    const container = this.#containers.at(-1);
    if (container) {
      container.pieces += 1;
      this.#elements += 1;
    }
    const number = container ? this.#elements : this.#numberAt(start);
    const isTooLong = end === undefined || end - start > this.#maxCharacters;
    return { number, text: isTooLong ? undefined : this.#text.slice(start, end).trim() };
  }

  /** Returns the number of the line that contains a position. Counts each line only once. */
  #numberAt(position: number): number {
    for (let at = this.#text.indexOf('\n', this.#counted); at !== -1 && at < position;) {
      this.#line += 1;
      this.#counted = at + 1;
      at = this.#text.indexOf('\n', this.#counted);
    }
    return this.#line;
  }

  /** Drops text that is no longer needed. */
  #drop(): void {
    const used = this.#start === -1 ? this.#at : this.#start;
    this.#numberAt(used);
    this.#text = this.#text.slice(used);
    this.#counted = Math.max(0, this.#counted - used);
    this.#at -= used;
    if (this.#start !== -1) this.#start = 0;
  }
}
