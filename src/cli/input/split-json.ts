// Splits a text into the JSON values that are in it, one after the other, with one of them in memory at a time (RFC 8259, JSON
// Lines, several arrays, objects over several lines). The elements of arrays are values of their own, however deep; so are the
// members of an object that is too long to be one. Values are only told apart here: whether each is well-formed is seen when it is
// parsed. One that is damaged ends where the next one begins, so that nothing after it is lost.

/** A part of a file that is a row, or should be one. */
export interface Piece {
  /** From 1: of its line, or of an element among all elements. */
  readonly number: number;
  /** `undefined` for one that is longer than the limit. */
  readonly text: string | undefined;
}

/** What is open around a value: an array, or an object that is too long. */
interface Container {
  readonly bracket: string;
  readonly number: number;
  pieces: number;
}

const closingOf: Readonly<Record<string, string>> = { '{': '}', '[': ']' };
/** White space, commas, and what programs write between values. */
const between = /[\s,\u{feff}]*/uy;

export class JsonSplitter {
  readonly #maxCharacters: number;
  #text = '';
  #at = 0;
  /** Where the value begins that is open; -1 between values. */
  #start = -1;
  #open: string[] = [];
  /** The character of the value that came last, without white space. */
  #last = '';
  readonly #containers: Container[] = [];
  #elements = 0;
  /** Of the position `#counted`. */
  #line = 1;
  #counted = 0;
  /** The rest of what is damaged, or too long, is passed over. */
  #skips: 'to the next line' | 'to the end of the string' | undefined;

  constructor(maxCharacters: number) {
    this.#maxCharacters = maxCharacters;
  }

  /** Whether the text has ended within an array, or within an object that is too long. */
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

  /** Between values. @returns false where more text is needed */
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

  /** A text, number or rubbish. In an object it is a name, or no row. */
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

  /** Within an object. */
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

  /** An object or an array cannot follow a value, nor stand in the place of a name. */
  #mayOpen(): boolean {
    const within = this.#open.at(-1);
    return within === undefined || (within === '{' ? this.#last === ':' : '[,'.includes(this.#last));
  }

  /** The object is too long: its members are values of their own. */
  #takeApart(): boolean {
    this.#openContainer('{', this.#numberAt(this.#start));
    this.#at = this.#start + 1;
    this.#start = -1;
    return true;
  }

  /** The value ends where a line begins another one, at the latest at `limit`. */
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

  /** @returns false where more text is needed */
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

  /** @returns the position after the string that begins at `start`; 'line' where its line ends before, undefined where the text does */
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
    // too long for a row, and without any in it
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

  /** Of the line at a position; each line is counted once. */
  #numberAt(position: number): number {
    for (let at = this.#text.indexOf('\n', this.#counted); at !== -1 && at < position;) {
      this.#line += 1;
      this.#counted = at + 1;
      at = this.#text.indexOf('\n', this.#counted);
    }
    return this.#line;
  }

  /** Forgets the text that is not needed any more. */
  #drop(): void {
    const used = this.#start === -1 ? this.#at : this.#start;
    this.#numberAt(used);
    this.#text = this.#text.slice(used);
    this.#counted = Math.max(0, this.#counted - used);
    this.#at -= used;
    if (this.#start !== -1) this.#start = 0;
  }
}
