// Files of all kinds that people import, mixed and damaged, made from a seed; and the import of one of them, of which every row must
// be accounted for.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exampleSubscription, type ExampleSubscription } from './example-subscriptions.ts';
import { parseLines, type Run, temporaryFolder } from './run-command.ts';

interface Person extends ExampleSubscription {
  readonly userId: string;
  readonly extra: Readonly<Record<string, unknown>>;
}

interface Expected {
  /** The person of each endpoint that is to be stored. */
  readonly stored: Map<string, string>;
  rows: number;
  refused: number;
  leftOut: number;
}

/** mulberry32: the same numbers from 0 to below 1 for one seed. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Makes a file. @param limit below it are all characters of its encoding */
class FileMaker {
  readonly expected: Expected = { stored: new Map(), rows: 0, refused: 0, leftOut: 0 };
  readonly #random: () => number;
  #number = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  below(end: number): number {
    return Math.floor(this.#random() * end);
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)]!;
  }

  /** Of those that are not damaged. */
  #person(): Person {
    this.#number += 1;
    const name = this.pick(['müller', 'möller', 'mäller', 'Müller', 'muller', '90071992547409930']);
    const extra = this.pick<Person['extra']>([
      {},
      { created_at: '0000-00-00 00:00:00', language: 'en_US' },
      { created_at: '2026-03-01 12:00:00', timeZone: 'GMT+1' },
      { timeZone: 'W. Europe Standard Time', expirationTime: null },
      { note: 'brackets ]}[{, and "quotes" \\ ; | here', language: '' },
    ]);
    return {
      ...exampleSubscription(`${this.#number}-${this.below(1e9)}`),
      userId: `${name}-${this.#number}`,
      extra,
    };
  }

  #keep(person: Person): Person {
    this.expected.rows += 1;
    this.expected.stored.set(person.endpoint, person.userId);
    return person;
  }

  persons(): readonly Person[] {
    const persons = Array.from({ length: 2 + this.below(5) }, () => this.#keep(this.#person()));
    // one that comes again is updated
    return this.below(3) === 0 ? [...persons, this.#keep(this.pick(persons))] : persons;
  }

  /** A person who is refused, since the user could be somebody else's. */
  #lost(): object {
    this.expected.rows += 1;
    this.expected.refused += 1;
    const { endpoint, keys } = this.#person();
    return { endpoint, keys, userId: this.pick<unknown>([2 ** 53 + 2, 'm\ufffdller', '1.09E+17', 4.5]) };
  }

  #leaveOut<Value>(value: Value): Value {
    this.expected.rows += 1;
    this.expected.leftOut += 1;
    return value;
  }

  /** The text of a row, or a part of it that is no row any more. */
  damaged(text: string, from = 1, to = text.length - 1): string {
    this.expected.rows += 1;
    this.expected.refused += 1;
    return text.slice(0, from + this.below(to - from));
  }

  /** Rows on lines of their own, with one that is cut off among them. */
  lines(format: (person: Person) => string, before = ''): string {
    const rows = this.persons().map(format);
    if (this.below(2) === 0) {
      const text = format(this.#person());
      rows.splice(this.below(rows.length + 1), 0, before + this.damaged(text));
    }
    return rows.join('\n');
  }

  row = ({ endpoint, keys, userId, extra }: Person): object =>
    this.pick<() => object>([
      () => ({ userId, endpoint, keys, ...extra }),
      () => ({ ...extra, userId, endpoint, ...keys }),
      () => ({ userId, subscription: { endpoint, keys }, ...extra }),
      () => ({ userId, device: JSON.stringify({ endpoint, keys }), ...extra }),
      () => ({
        userId,
        endpoint,
        keys: { p256dh: [...bytes(keys.p256dh)], auth: bytes(keys.auth).toJSON() },
      }),
      () => ({
        userId,
        endpoint,
        p256dh: String.raw`\x${bytes(keys.p256dh).toString('hex')}`,
        auth: bytes(keys.auth).toString('base64'),
      }),
      () => ({
        userId: { N: userId },
        endpoint: { S: endpoint },
        keys: { M: { p256dh: { S: keys.p256dh }, auth: { S: keys.auth } } },
      }),
      () => ({
        name: 'projects/p/databases/d/documents/s/1',
        fields: {
          userId: { stringValue: userId },
          endpoint: { stringValue: endpoint },
          p256dh: { stringValue: keys.p256dh },
          auth: { stringValue: keys.auth },
        },
      }),
      () => ({ model: 'push.subscription', pk: 1, fields: { userId, endpoint, ...keys } }),
    ])();

  /** Of JSON: any of them may stand after another one. */
  json(): string {
    const rows = () => [...this.persons().map(this.row), ...(this.below(3) === 0 ? [this.#lost()] : [])];
    return this.pick<() => string>([
      () => this.lines((person) => JSON.stringify(this.row(person))),
      () => JSON.stringify(rows()),
      () => JSON.stringify(rows(), undefined, 2),
      () => `[\n${this.lines((person) => JSON.stringify(this.row(person))).replaceAll('\n', ',\n')}\n]`,
      () => JSON.stringify([rows(), [rows()], []]),
      () =>
        rows()
          .map((row) => JSON.stringify(row, undefined, '\t'))
          .join('\n'),
      () => JSON.stringify({ total: 3, rows: rows(), next: null }, undefined, this.pick([0, 2])),
      () => JSON.stringify({ a: { b: [{ c: rows() }] }, Count: 1 }),
      () =>
        JSON.stringify(
          Object.fromEntries(this.persons().map((person, index) => [`device ${index}`, this.row(person)])),
        ),
      () => JSON.stringify(JSON.stringify(rows())),
      () =>
        JSON.stringify([
          this.#leaveOut({ model: 'auth.user', pk: 1, fields: { username: 'ada' } }),
          ...rows(),
        ]),
      () =>
        JSON.stringify([
          this.#leaveOut({ type: 'header', version: '5.2.1' }),
          this.#leaveOut({ type: 'database', name: 'shop' }),
          { type: 'table', name: 'push', data: rows() },
        ]),
      () => JSON.stringify({ filler: 'x'.repeat(700_000), further: 'y'.repeat(400_000), rows: rows() }),
    ])();
  }

  table(): string {
    const separator = this.pick([',', ';', '\t', '|']);
    const quoted = this.below(2) === 0;
    const cell = (text: string): string =>
      quoted || text.includes(separator) || /["\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    const header = ['user id', 'note', 'endpoint', 'p256dh', 'auth', 'created at'];
    const toLine = ({ userId, endpoint, keys }: Person): string =>
      [
        userId,
        this.pick(['', 'a "b"', `x${separator}y`, '5', 'one\ntwo']),
        endpoint,
        keys.p256dh,
        keys.auth,
        '',
      ]
        .map(cell)
        .join(separator);
    const lines = this.persons().map(toLine);
    for (let count = this.below(3); count > 0; count -= 1) {
      const text = toLine(this.#person()).replaceAll('\n', ' ');
      // before the last key is whole
      const cut = this.pick([true, false])
        ? this.damaged(text, 1, text.length - 6)
        : `${this.damaged('"x', 1, 2)}${separator}"${text.replaceAll('"', '')}`;
      lines.splice(this.below(lines.length + 1), 0, cut);
    }
    const sep = this.below(3) === 0 ? [`sep=${separator}`] : [];
    return [...sep, header.map(cell).join(separator), ...lines, ''].join(this.pick(['\n', '\r\n']));
  }
}

const bytes = (text: string): Buffer => Buffer.from(text, 'base64url');

const encodings: readonly (readonly [name: string, encode: (text: string) => Buffer])[] = [
  ['utf-8', (text) => Buffer.from(text)],
  ['utf-8', (text) => Buffer.from(`\ufeff${text}`)],
  ['utf-16', (text) => Buffer.from(`\ufeff${text}`, 'utf16le')],
  ['utf-16', (text) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16()],
  ['windows-1252', (text) => Buffer.from(text, 'latin1')],
];

/** Imports a file, and asserts that each of its rows is where it is said to be, and that nobody has become somebody else. */
export async function importGenerated(seed: number, run: Run): Promise<void> {
  const maker = new FileMaker(createRandom(seed));
  const text =
    maker.below(3) === 0
      ? maker.table()
      : Array.from({ length: 1 + maker.below(3) }, () => maker.json()).join('\n');
  const [encoding, encode] = maker.pick(text.includes('\ufffd') ? encodings.slice(0, 4) : encodings);
  const file = join(await temporaryFolder(), 'file');
  await writeFile(file, encode(text));
  const { stored, rows, refused, leftOut } = maker.expected;
  const before = await readStored(run);
  const flags = encoding === 'windows-1252' ? ` --encoding ${encoding}` : '';
  const { stdout, stderr } = await run(`subscriptions import ${file} --json --user-column user_id${flags}`);
  const counts = parseLines(stdout).at(-1);
  const about = `seed ${seed}\n${text.slice(0, 3000)}\n${stderr}\n${stdout.slice(0, 2000)}`;
  assert.deepEqual(
    { imported: counts?.imported, refused: counts?.refused, leftOut: counts?.leftOut },
    { imported: stored.size, refused, leftOut },
    about,
  );
  assert.equal(counts.imported + counts.updated + counts.refused + counts.leftOut, rows, about);
  assert.deepEqual(await readStored(run), new Map([...before, ...stored]), about);
}

async function readStored(run: Run): Promise<ReadonlyMap<string, string>> {
  const { stdout } = await run('subscriptions export');
  return new Map(parseLines(stdout).map(({ endpoint, user }) => [endpoint as string, user as string]));
}
