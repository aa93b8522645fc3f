// What commands print of the world: they run on a copy of its database, in this process, whose clock is set to the world's.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { loadOrCreateKeyFile } from '../../../src/keys/vapid-key-files.ts';
import { settlements } from '../../../src/store/broadcasts.ts';
import { fastFolder } from '../../../tools/fast-folder.ts';
import { runCommand } from '../../cli/run-command.ts';
import { figureOracle } from './figures.ts';
import {
  alarmsOf,
  asksReceipts,
  iso,
  ofOutcome,
  reachedAfterMs,
  reports,
  standingAlarms,
  stateOf,
  type Story,
  type World,
} from './world.ts';

const counted = [...settlements, 'pending', 'removed', 'cancelled'] as const;
const toSecond = (atMs: number): string => iso(atMs).replace(/\.\d+Z$/, 'Z');
const lines = (text: string): readonly string[] => text.trimEnd().split('\n').filter(Boolean);

/** The numbers of a table by its columns, whose cells have no spaces. */
function tableOf(text: string): readonly Readonly<Record<string, string>>[] {
  const [head = '', ...rows] = lines(text);
  const names = head.trim().split(/ {2,}|(?<=[A-Z]) (?=[A-Z]+ )/);
  return rows.map((row) => {
    const cells = row.trim().split(/ +/);
    return Object.fromEntries(names.map((name, index) => [name, cells[index] ?? '']));
  });
}

export type Csv = (story: Story) => readonly string[];

/** @param csvOf the lines of a story's outcomes */
export async function compareCommands(
  moment: string,
  t: TestContext,
  world: World,
  csvOf: Csv,
): Promise<void> {
  const { database, options } = world.store.address;
  if (database !== 'sqlite') return;
  const data = mkdtempSync(join(fastFolder(), 'deskbell-commands-'));
  try {
    const path = join(data, 'deskbell.db');
    using original = new DatabaseSync((options as { readonly path: string }).path);
    original.exec(`vacuum into '${path}'`);
    chmodSync(path, 0o600);
    using copy = new DatabaseSync(path);
    // the sender of the test keeps its private key to itself
    copy.exec("update vapid_keys set state = 'retired' where state = 'current'");
    await loadOrCreateKeyFile(data);
    t.mock.timers.enable({ apis: ['Date'], now: world.nowMs });
    const print = async (...words: readonly string[]): Promise<string> => {
      const { exitCode, stdout, stderr } = await runCommand([...words, '--data', data]);
      assert.equal(exitCode, 0, `${words.join(' ')}: ${stderr}`);
      return stdout;
    };
    await compareBroadcasts(moment, world, print, csvOf);
    await compareSubscriptions(moment, world, print);
    const alarms = await print('alarms', 'list');
    for (const { id, sinceMs, broadcasts } of standingAlarms(world))
      world.expect(`${moment}: alarms list: ${id}`, () => {
        const said = alarms.slice(alarms.indexOf(`${id} `)).split('\n')[1]!;
        assert.ok(said.includes(`since ${iso(sinceMs)}`), said);
        if (broadcasts.length > 0) assert.ok(said.endsWith(`broadcasts ${broadcasts.join(', ')}`), said);
      });
  } finally {
    t.mock.timers.reset();
    rmSync(data, { recursive: true });
  }
}

type Print = (...words: readonly string[]) => Promise<string>;

async function compareBroadcasts(moment: string, world: World, print: Print, csvOf: Csv): Promise<void> {
  const rows = tableOf(await print('broadcasts', 'list', '--limit', '100'));
  for (const [index, story] of world.stories.toReversed().entries()) {
    const numberOf = (name: (typeof counted)[number]) => String(ofOutcome(name)(story, world));
    world.expect(`${moment}: broadcasts list: ${story.name}`, () => {
      const { TITLE: _title, ...row } = rows[index]!;
      const expected: Record<string, string> = {
        ID: String(story.id),
        STATE: stateOf(story, world),
        START: toSecond(story.startAtMs),
        RECIPIENTS: String(story.rows.length),
        ALARMS: String(alarmsOf(story).length),
      };
      for (const name of counted)
        if (name.toUpperCase() in row) expected[name.toUpperCase()] = numberOf(name);
        else assert.equal(numberOf(name), '0', name);
      assert.deepEqual(row, expected);
    });

    const shown = await print('broadcasts', 'show', String(story.id));
    world.expect(`${moment}: broadcasts show: ${story.name}`, () => {
      assert.ok(
        shown.startsWith(
          `Broadcast ${story.id} is ${stateOf(story, world)}, created ${iso(story.createdAtMs)}:`,
        ),
      );
      const numbers = Object.fromEntries(
        Array.from(shown.matchAll(/^ +([\d,]+) ([a-z]+)/gm), ([, number, name]) => [name, number]),
      );
      for (const name of counted) assert.equal(numbers[name] ?? '0', numberOf(name), name);
      assert.equal(numbers['in'], String(story.rows.length));
      assert.equal(numbers['left'] ?? '0', String(story.leftOut.length));
      for (const event of ['shown', 'clicked'] as const)
        assert.equal(numbers[event], asksReceipts(story) ? String(reports(story, event)) : undefined);
      if (story.rows.length === 0) assert.match(shown, /reached nobody: the audience was empty/);
      else checkReach(story, shown);
    });

    const [, ...outcomes] = lines(await print('broadcasts', 'outcomes', String(story.id)));
    world.expect(`${moment}: broadcasts outcomes: ${story.name}`, () =>
      assert.deepEqual(outcomes, csvOf(story)),
    );
  }
}

/** As exact as the intervals of the counts. */
function checkReach(story: Story, shown: string): void {
  for (const percent of [50, 95, 99]) {
    const [, words = ''] = new RegExp(`^  ${percent} % of the recipients were (.*)$`, 'm').exec(shown) ?? [];
    const isReached = reachedAfterMs(story, percent) !== undefined;
    assert.equal(words.startsWith('reached after'), isReached, `${percent} %: ${words}`);
    if (!isReached) assert.equal(words === 'never reached', story.endedAtMs !== undefined, `${percent} %`);
  }
}

async function compareSubscriptions(moment: string, world: World, print: Print): Promise<void> {
  const days = tableOf(await print('subscriptions', 'lost'));
  const expected = Map.groupBy(world.lost, ({ person, reason, atMs }) =>
    [iso(atMs).slice(0, 10), reason, person.origin].join(' '),
  );
  world.expect(`${moment}: subscriptions lost`, () =>
    assert.deepEqual(
      days
        .filter((row) => 'REASON' in row)
        .map((row) => [row['DAY'], row['REASON'], row['PUSH SERVICE'], row['SUBSCRIPTIONS']].join(' '))
        .toSorted(),
      [...expected].map(([name, { length }]) => `${name} ${length}`).toSorted(),
    ),
  );
  const each = tableOf(await print('subscriptions', 'lost', '--list'));
  world.expect(`${moment}: subscriptions lost --list`, () =>
    assert.deepEqual(
      each
        .filter((row) => 'REASON' in row)
        .map((row) => [row['ID'], row['REASON'], row['BY'], row['PUSH SERVICE']].join(' '))
        .toSorted(),
      world.lost
        .map(({ person, reason, by = '-', isOfPerson }) =>
          [isOfPerson ? '-' : person.id, reason, by, person.origin].join(' '),
        )
        .toSorted(),
    ),
  );
  const visits = lines(await print('subscriptions', 'visits')).slice(1);
  for (const line of visits) {
    const [origin = '', ...numbers] = line.trim().split(/ +/).toReversed();
    const names = ['notSinceImport', 'longerAgo', 'within90Days', 'within30Days', 'within7Days'] as const;
    world.expect(`${moment}: subscriptions visits: ${origin}`, () =>
      assert.deepEqual(
        numbers.map(Number),
        names.map((name) =>
          figureOracle[`visits.${name}`]!(world, [new URL(origin).host], undefined as never),
        ),
      ),
    );
  }
  const listed = tableOf(await print('subscriptions', 'list'));
  world.expect(`${moment}: subscriptions list`, () =>
    assert.deepEqual(
      listed.map((row) => [row['ID'], row['REGISTERED'], row['RENEWED']].join(' ')),
      world.people
        .filter(({ isStored }) => isStored)
        .map(({ id, createdAtMs, visitMs = createdAtMs }) =>
          [id, toSecond(createdAtMs), toSecond(visitMs)].join(' '),
        ),
    ),
  );
}
