// A reader is a person, or a subscription without a person. Deskbell uses the person's language, time zone and choices,
// and those of the subscription if the person has none. If a reader has made no choice for a channel, the channel's
// default applies.
import {
  type Channel,
  checkChannel,
  checkChoices,
  checkKnownChoices,
  type Choices,
  maxChannels,
} from '../audience/channels.ts';
import { checkPersonChange, type Person, type PersonChange } from '../audience/person.ts';
import { checkDataSize, type PersonData } from '../audience/reader-facts.ts';
import { checkNewUser } from '../audience/user-and-tags.ts';
import { fieldError } from '../errors/deskbell-error.ts';
import { lookUp } from '../errors/check-options.ts';
import { changesAny, type PortableDatabase, run, type Work } from './portable-sql.ts';
import { isInactive } from './receipts.ts';
import { readChoices, type StoredSubscription } from './subscriptions.ts';

// Channels, which readers switch on and off. When a channel is removed, choices are kept in case it is restored.
/** Stores up to 100 channels. */
export interface ChannelStore {
  /** Ordered by name. */
  list(): Promise<readonly Channel[]>;
  /**
   * Adds a channel, or replaces the channel with the same name.
   *
   * @returns the stored channel
   * @throws {DeskbellError} ERR_FIELD_VALUE (also if there would be too many channels), ERR_FIELD_TYPE
   */
  put(channel: Channel): Promise<Channel>;
  /** @returns false if there is no such channel */
  remove(name: string): Promise<boolean>;
}

interface ChannelRow extends Pick<Channel, 'name' | 'title'> {
  /** JSON */
  readonly titles: string;
  readonly isOnByDefault: number;
}

export function createChannels(database: PortableDatabase): ChannelStore {
  return {
    list: async () => {
      const rows = await database.read<ChannelRow>(
        `select name, title, titles, is_on_by_default as "isOnByDefault"
         from deskbell.channels order by name collate ${database.byBytes}`,
      );
      return rows.map((row) => ({
        ...row,
        titles: JSON.parse(row.titles) as Channel['titles'],
        isOnByDefault: row.isOnByDefault === 1,
      }));
    },

    put: async (given) => {
      const channel = checkChannel(given);
      const { name, title, titles, isOnByDefault } = channel;
      await database.transaction(function* () {
        const others = yield* run('select 1 from deskbell.channels where name <> :name', { name });
        if (others.length >= maxChannels) {
          const detail = `There are ${maxChannels} channels already; remove one first.`;
          throw fieldError('ERR_FIELD_VALUE', '/name', detail);
        }
        yield* run(
          `insert into deskbell.channels (name, title, titles, is_on_by_default)
           values (:name, :title, :titles, :isOnByDefault)
           on conflict (name) do update set title = excluded.title, titles = excluded.titles,
             is_on_by_default = excluded.is_on_by_default`,
          { name, title, titles: JSON.stringify(titles), isOnByDefault: Number(isOnByDefault) },
        );
      }, 'channels');
      return channel;
    },

    remove: (name) =>
      changesAny(database, 'delete from deskbell.channels where name = :name', {
        name: name.normalize('NFC'),
      }),
  };
}

/**
 * What the store knows about a reader. Deskbell uses the reader's language, time zone, data and choices to select
 * audiences and to write messages. The person's values take precedence over those of the subscription.
 */
export interface ReaderFacts {
  readonly language: string | undefined;
  readonly timeZone: string | undefined;
  readonly data: PersonData;
  /** Choices that were made. For other channels, the default applies. */
  readonly channels: Choices;
  /** Whether the subscription is inactive. Absent if `skipInactive` was not given. */
  readonly isInactive?: boolean;
}

/** A person, or the fields of a stored subscription that identify its reader. */
export type Reader = Pick<StoredSubscription, 'id' | 'user' | 'channels'> | { readonly user: string };

/** Stores the data that applications write about readers, and the choices that readers have made. */
export interface ReaderStore {
  /** Returns a person without data and choices if nothing is known. */
  person(user: string): Promise<Person>;
  /**
   * @returns the changed person
   * @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE (also if there is too much data), ERR_CHANNEL_NOT_FOUND. If
   *   it throws, nothing has changed
   */
  setPerson(user: string, change: PersonChange): Promise<Person>;
  /**
   * Returns facts about the readers of these subscriptions, by subscription id, in one query. Omits subscriptions that
   * are not stored.
   *
   * @param skipInactive also determine who was inactive over this many broadcasts
   */
  factsOf(
    subscriptions: readonly Pick<StoredSubscription, 'id' | 'endpoint'>[],
    skipInactive?: number,
  ): Promise<ReadonlyMap<number, ReaderFacts>>;
  /** Returns the data of these subscriptions' readers, by subscription id, in one query. Omits readers without data. */
  dataOf(
    subscriptions: readonly Pick<StoredSubscription, 'id' | 'endpoint'>[],
  ): Promise<Readonly<Record<number, PersonData>>>;
  /** Returns the choice that applies to each channel. */
  choices(reader: Reader): Promise<Choices>;
  /**
   * Stores choices for the reader's user. If the reader is anonymous, stores the choices for the subscription.
   *
   * @returns the choices that then apply to each channel
   * @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE, ERR_CHANNEL_NOT_FOUND. If it throws, nothing has changed
   */
  choose(reader: Reader, choices: Choices): Promise<Choices>;
}

interface FactRow {
  readonly language: string | null;
  readonly timeZone: string | null;
  /** JSON */
  readonly data: string | null;
  /** JSON, as in `own` */
  readonly channels: string | null;
}

/** A subscription and its person. */
interface ReaderRow extends FactRow {
  readonly id: number;
  /** The subscription's own choices, as JSON. */
  readonly own: string | null;
  readonly is_inactive: number | boolean;
}

const selectPerson =
  'select language, time_zone as "timeZone", data, channels from deskbell.people where user_name = :user';

export function createReaders(database: PortableDatabase): ReaderStore {
  const channels = createChannels(database);
  const { sql: givenRows, keysOf } = database.given;

  function* changePerson(user: string, change: PersonChange, known: readonly Channel[]): Work<Person> {
    const [row] = yield* run<FactRow>(selectPerson, { user });
    const former = toPerson(user, row);
    const changed: Person = {
      user,
      data: merge(former.data, change.data),
      language: change.language === undefined ? former.language : (change.language ?? undefined),
      timeZone: change.timeZone === undefined ? former.timeZone : (change.timeZone ?? undefined),
      channels: mergeChoices(former.channels, change.channels, known),
    };
    checkDataSize(changed.data, '/data');
    yield* run(
      `insert into deskbell.people (user_name, data, language, time_zone, channels, updated_at_ms)
       values (:user, :data, :language, :timeZone, :channels, :nowMs)
       on conflict (user_name) do update set data = excluded.data, language = excluded.language,
         time_zone = excluded.time_zone, channels = excluded.channels, updated_at_ms = excluded.updated_at_ms`,
      {
        user,
        data: JSON.stringify(changed.data),
        language: changed.language,
        timeZone: changed.timeZone,
        channels: toColumn(changed.channels),
        nowMs: database.now(),
      },
    );
    return changed;
  }

  /** Changes to the same reader run one after another. */
  const setPerson = (user: string, change: PersonChange, known: readonly Channel[]): Promise<Person> =>
    database.transaction(() => changePerson(user, change, known), `person ${user}`);

  const person: ReaderStore['person'] = async (user) => {
    const [row] = await database.read<FactRow>(selectPerson, { user });
    return toPerson(user, row);
  };

  return {
    person,

    setPerson: async (user, given) => {
      const change = checkPersonChange(given);
      const known = await channels.list();
      checkKnownChoices(withoutNull(change.channels ?? {}), known, '/channels');
      return setPerson(checkNewUser(user, '/user'), change, known);
    },

    factsOf: async (subscriptions, skipInactive) => {
      const rows = await database.read<ReaderRow>(
        `select s.id, coalesce(p.language, s.language) as language, coalesce(p.time_zone, s.time_zone) as "timeZone",
           s.channels as own, p.channels, p.data, ${isInactive(skipInactive)} as is_inactive
         from ${givenRows}`,
        { keys: keysOf(subscriptions) },
      );
      return new Map(
        rows.map((row) => {
          const asked = skipInactive !== undefined && { isInactive: Boolean(row.is_inactive) };
          return [row.id, { ...toFacts(row), ...asked }];
        }),
      );
    },

    dataOf: async (subscriptions) => {
      // returning all data as one text takes a third less time than returning rows
      const [row] = await database.read<{ readonly members: string | null }>(
        `select string_agg('"' || s.id || '":' || p.data, ',') as members from ${givenRows} where p.data is not null`,
        { keys: keysOf(subscriptions) },
      );
      return JSON.parse(`{${row?.members ?? ''}}`) as Readonly<Record<number, PersonData>>;
    },

    choices: async (reader) => {
      const ofPerson = reader.user === undefined ? {} : (await person(reader.user)).channels;
      return forEach(await channels.list(), { ...ownChoices(reader), ...ofPerson });
    },

    choose: async (reader, given) => {
      const choices = checkChoices(given, '/choices');
      const known = await channels.list();
      checkKnownChoices(choices, known, '/choices');
      if ('id' in reader && reader.user === undefined) {
        const work = () => changeSubscription(reader.id, choices, known);
        return forEach(known, await database.transaction(work, `subscription ${reader.id}`));
      }
      const { channels: ofPerson } = await setPerson(reader.user!, { channels: choices }, known);
      return forEach(known, { ...ownChoices(reader), ...ofPerson });
    },
  };
}

function* changeSubscription(id: number, change: Choices, known: readonly Channel[]): Work<Choices> {
  const [row] = yield* run<Pick<FactRow, 'channels'>>(
    'select channels from deskbell.subscriptions where id = :id',
    { id },
  );
  const changed = mergeChoices(readChoices(row?.channels ?? null), change, known);
  yield* run('update deskbell.subscriptions set channels = :channels where id = :id', {
    id,
    channels: toColumn(changed),
  });
  return changed;
}

function toPerson(user: string, row: FactRow | undefined): Person {
  return {
    user,
    data: readData(row?.data ?? null),
    language: row?.language ?? undefined,
    timeZone: row?.timeZone ?? undefined,
    channels: readChoices(row?.channels ?? null),
  };
}

const toFacts = ({ language, timeZone, data, own, channels }: ReaderRow): ReaderFacts => ({
  language: language ?? undefined,
  timeZone: timeZone ?? undefined,
  data: readData(data),
  channels: { ...readChoices(own), ...readChoices(channels) },
});

const ownChoices = (reader: Reader): Choices => ('id' in reader ? reader.channels : {});

const readData = (data: string | null): PersonData => (data === null ? {} : (JSON.parse(data) as PersonData));

const toColumn = (choices: Choices): string | null =>
  Object.keys(choices).length === 0 ? null : JSON.stringify(choices);

/** @param change as in `PersonChange` */
const merge = <Value>(
  former: Readonly<Record<string, Value>>,
  change: Readonly<Record<string, Value | null>> | null = {},
): Readonly<Record<string, Value>> => (change === null ? {} : withoutNull({ ...former, ...change }));

const withoutNull = <Value>(
  members: Readonly<Record<string, Value | null>>,
): Readonly<Record<string, Value>> =>
  Object.fromEntries(
    Object.entries(members).filter((member): member is [string, Value] => member[1] !== null),
  );

/** Keeps choices for removed channels as long as there is room for them. */
function mergeChoices(former: Choices, change: PersonChange['channels'], known: readonly Channel[]): Choices {
  const merged = Object.entries(merge(former, change));
  if (merged.length <= maxChannels) return Object.fromEntries(merged);
  return Object.fromEntries(merged.filter(([name]) => known.some((channel) => channel.name === name)));
}

const forEach = (channels: readonly Channel[], made: Choices): Choices =>
  Object.fromEntries(
    channels.map(({ name, isOnByDefault }) => [
      name,
      Object.hasOwn(made, name) ? lookUp(made, name)! : isOnByDefault,
    ]),
  );
