// The recipes of docs/import-recipes.md: each query is run against tables with the columns that the program's own migrations
// create, and what it gives is imported by the commands of the page.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import { memberNames } from '../../src/cli/input/column-names.ts';
import { codeBlocks, pages } from '../documentation/pages.ts';
import { exampleSubscription } from './example-subscriptions.ts';
import { outputOf, parseLines, runCommand, temporaryFolder } from './run-command.ts';

const page = 'docs/import-recipes.md';
const guide = 'docs/importing.md';
const subscriptions = [1, 2, 3, 4].map(exampleSubscription);
const [one, two, three, four] = subscriptions.map(({ endpoint, keys }) => [
  endpoint,
  keys.p256dh,
  keys.auth,
]) as [string[], string[], string[], string[]];

interface Recipe {
  /** The tables of the program, with its own names and order of columns. */
  readonly tables: string;
  /** Rows by table, in the order of its columns. */
  readonly rows: Readonly<Record<string, readonly (readonly (string | number | null)[])[]>>;
  /** How the database's program writes a table. */
  readonly write: (rows: readonly Row[]) => string;
  readonly expected: readonly Expected[];
}

type Row = Readonly<Record<string, string | number | null>>;
type Expected = readonly [
  of: string[],
  user?: string | undefined,
  tags?: readonly string[] | undefined,
  createdAt?: string,
];

const quote = (cell: string): string => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

/** As `psql --csv` and `sqlite3 -csv` do. */
const asCsv = (rows: readonly Row[]): string =>
  toTable(rows, (cells) => cells.map((cell) => quote(String(cell ?? ''))).join(','));

/** As `mysql --batch` does. */
const asTabs = (rows: readonly Row[]): string =>
  toTable(rows, (cells) => cells.map((cell) => String(cell ?? 'NULL')).join('\t'));

const toTable = (
  rows: readonly Row[],
  line: (cells: readonly (string | number | null)[]) => string,
): string => [Object.keys(rows[0]!), ...rows.map((row) => Object.values(row))].map(line).join('\n');

const march = '2026-03-01 12:00:00';
const marchIso = '2026-03-01T12:00:00.000Z';

const recipes: Readonly<Record<string, Recipe>> = {
  'Laravel: laravel-notification-channels/webpush': {
    tables: `create table push_subscriptions (id integer primary key, subscribable_type text not null,
      subscribable_id integer not null, endpoint text not null unique, public_key text, auth_token text,
      content_encoding text, created_at text, updated_at text)`,
    rows: {
      push_subscriptions: [
        [1, String.raw`App\Models\User`, 42, ...one, 'aes128gcm', march, march],
        [2, String.raw`App\Models\Shop`, 42, ...two, 'aesgcm', march, march],
        [3, String.raw`App\Models\User`, 43, ...three, null, march, march],
      ],
    },
    write: asTabs,
    expected: [
      [one, '42', undefined, marchIso],
      [three, '43', undefined, marchIso],
    ],
  },
  'Django: django-webpush': {
    tables: `create table webpush_group (id integer primary key, name text not null unique);
      create table webpush_subscriptioninfo (id integer primary key, browser text not null, endpoint text not null,
        auth text not null, p256dh text not null, user_agent text not null);
      create table webpush_pushinformation (id integer primary key, group_id integer, subscription_id integer not null,
        user_id integer)`,
    rows: {
      webpush_group: [
        [1, 'daily news'],
        [2, 'beta'],
      ],
      webpush_subscriptioninfo: [one, two, three].map(([endpoint, p256dh, auth], index) => [
        index + 1,
        'chrome',
        endpoint!,
        auth!,
        p256dh!,
        'Mozilla/5.0 (X11; Linux x86_64; "quoted", comma)',
      ]),
      webpush_pushinformation: [
        [1, null, 1, 42],
        [2, 1, 2, null],
        [3, 1, 3, 43],
        [4, 2, 3, 43],
      ],
    },
    write: asCsv,
    expected: [
      [one, '42'],
      [two, undefined, ['daily-news']],
      [three, '43', ['beta', 'daily-news']],
    ],
  },
  'PHP: minishlink/web-push': {
    tables:
      'create table push_subscriptions (id integer primary key, user_id text, data text, created_at text)',
    rows: {
      push_subscriptions: [
        [1, 'ada', JSON.stringify({ ...subscriptions[0], contentEncoding: 'aes128gcm' }), march],
        [2, null, JSON.stringify({ endpoint: two[0], publicKey: two[1], authToken: two[2] }), null],
      ],
    },
    write: asCsv,
    expected: [[one, 'ada', undefined, marchIso], [two]],
  },
  'WordPress: Perfecty Push': {
    tables: `create table wp_perfecty_push_users (id integer primary key, wp_user_id integer, uuid text not null,
      remote_ip text, endpoint text not null, key_auth text not null, key_p256dh text not null, created_at text not null)`,
    rows: {
      wp_perfecty_push_users: [one, two].map(([endpoint, p256dh, auth], index) => [
        index + 1,
        index === 0 ? 42 : null,
        `5f0e1d6a-0000-4000-8000-00000000000${index}`,
        '192.0.2.1',
        endpoint!,
        auth!,
        p256dh!,
        march,
      ]),
    },
    write: asTabs,
    expected: [
      [one, '42', undefined, marchIso],
      [two, undefined, undefined, marchIso],
    ],
  },
  'Nextcloud: notifications': {
    tables: `create table oc_notifications_webpush (id integer primary key, uid text not null, token integer default 0,
      endpoint text not null, ua_public text not null, auth text not null, app_types text not null,
      activated boolean default false, activation_token text not null)`,
    rows: {
      oc_notifications_webpush: [
        [1, 'ada', 7, ...one, 'all,-talk', 1, 'a'],
        [2, 'ada', 8, ...two, 'all', 0, 'b'],
        [3, 'grace', 9, ...three, 'all', 1, 'c'],
      ],
    },
    write: asCsv,
    expected: [
      [one, 'ada'],
      [three, 'grace'],
    ],
  },
};

/** The blocks under a heading of the page. */
function blocksUnder(heading: string, language: string): readonly string[] {
  const { text } = pages.find(({ path }) => path === page)!;
  const first = text.split('\n').indexOf(`## ${heading}`) + 1;
  assert.ok(first > 0, `${page} has the heading ${heading}`);
  const next = text.split('\n').findIndex((line, index) => index >= first && /^##+ /.test(line));
  return codeBlocks
    .filter((block) => block.path === page && block.language === language)
    .filter(({ line }) => line > first && (next === -1 || line < next))
    .map(({ code }) => code);
}

/** The words of the one line of a block that begins so. */
function commandIn(block: string, start: string): readonly string[] {
  const line = block.split('\n').find((candidate) => candidate.startsWith(start));
  assert.ok(line !== undefined, `${start} in ${block}`);
  return line.split(' ').slice(1);
}

async function importFile(words: readonly string[], content: string) {
  const data = await temporaryFolder();
  const file = join(data, 'table');
  await writeFile(file, content);
  const environment = { DESKBELL_DATA: data };
  await outputOf(runCommand('keys generate', { environment }));
  const imported = await runCommand([...words.slice(0, -1), file], { environment });
  const exported = await runCommand('subscriptions export', { environment });
  return { ...imported, rows: parseLines(exported.stdout) };
}

const byFirst = ([name = '']: readonly string[], [other = '']: readonly string[]): number =>
  name.localeCompare(other);

suite('the recipes for importing subscriptions', { concurrency: true }, () => {
  for (const [heading, { tables, rows, write, expected }] of Object.entries(recipes)) {
    test(heading, async () => {
      using database = new DatabaseSync(':memory:');
      database.exec(tables);
      for (const [table, given] of Object.entries(rows)) {
        const insert = database.prepare(
          `insert into ${table} values (${given[0]!.map(() => '?').join(', ')})`,
        );
        for (const row of given) insert.run(...row);
      }
      const [query] = blocksUnder(heading, 'sql');
      const [commands] = blocksUnder(heading, 'sh');
      const table = write(database.prepare(query!).all() as unknown as readonly Row[]);
      const imported = await importFile(commandIn(commands!, 'deskbell subscriptions import'), table);
      assert.equal(imported.stdout, `Imported ${expected.length}, refused 0.\n`, imported.stderr);
      assert.deepEqual(
        imported.rows.map(({ endpoint, keys, user, tags, createdAt }, index) => [
          [endpoint, keys.p256dh, keys.auth],
          user,
          tags,
          expected[index]?.[3] === undefined ? undefined : createdAt,
        ]),
        expected.map(([of, user, tags, createdAt]) => [of, user, tags, createdAt]),
      );
    });
  }

  test('the page has every name that is known', () => {
    const { text } = pages.find(({ path }) => path === guide)!;
    const cells = Array.from(text.matchAll(/^\|[^|]+\| (`[^|]+`) \|$/gm), ([, cell]) => cell!);
    const listed = cells.map((cell) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, name]) => name!));
    const known: readonly (readonly string[])[] = Object.values(memberNames);
    assert.deepEqual(listed.toSorted(byFirst), known.toSorted(byFirst));
  });

  test('every recipe of the page is run here', () => {
    const { text } = pages.find(({ path }) => path === page)!;
    const headings = Array.from(text.matchAll(/^## (.+)$/gm), ([, heading]) => heading!);
    assert.deepEqual(headings, [...Object.keys(recipes), 'Node.js: your own table or collection']);
  });

  test('Node.js: what mongoexport writes, and a table with keys as JSON', async () => {
    const documents = subscriptions.slice(0, 2).map((subscription, index) => ({
      _id: { $oid: `65f0a1b2c3d4e5f60718293${index}` },
      userId: { $oid: `75f0a1b2c3d4e5f60718293${index}` },
      subscription,
      createdAt: { $date: index === 0 ? marchIso : { $numberLong: String(Date.parse(marchIso)) } },
    }));
    const [commands] = blocksUnder('Node.js: your own table or collection', 'sh');
    const words = commandIn(commands!, 'deskbell subscriptions import');
    const imported = await importFile(words, JSON.stringify(documents));
    assert.deepEqual(
      imported.rows.map(({ endpoint, user, createdAt }) => [endpoint, user, createdAt]),
      documents.map(({ subscription, userId }) => [subscription.endpoint, userId.$oid, marchIso]),
    );

    const [endpoint, p256dh, auth] = four;
    const table = asCsv([
      { id: 1, user_id: 7, endpoint: endpoint!, keys: JSON.stringify({ p256dh, auth }), created_at: march },
    ]);
    const fromTable = await importFile(['subscriptions', 'import', '--user-column', 'user_id', ''], table);
    assert.deepEqual(
      fromTable.rows.map((row) => [row.endpoint, row.keys, row.user, row.createdAt]),
      [[endpoint, { p256dh, auth }, '7', marchIso]],
    );
  });

  test('the example of nested subscriptions', async () => {
    const example = codeBlocks.find(({ path, language }) => path === guide && language === 'json')!;
    const [row] = JSON.parse(example.code) as [object];
    const commands = codeBlocks.find(({ path, code }) => path === guide && code.includes('users.json'))!;
    const words = commandIn(commands.code, 'deskbell subscriptions import');
    const { rows } = await importFile(words, JSON.stringify([{ ...row, subscription: subscriptions[0] }]));
    assert.deepEqual(
      rows.map(({ endpoint, user, tags, createdAt }) => ({ endpoint, user, tags, createdAt })),
      [{ endpoint: one[0], user: '42', tags: ['beta', 'news'], createdAt: marchIso }],
    );
  });
});
