// Channels: what readers switch on and off. A channel that is removed leaves the choices that were made for it: nobody sees them,
// and where a channel of its name is made anew, they hold again.
import { checkChannel, maxChannels, type Channel } from '../audience/channels.ts';
import { type DeskbellError, fieldError } from '../errors/deskbell-error.ts';
import { run, type PortableDatabase } from './portable-sql.ts';

/** Channels, at most 100. */
export interface ChannelStore {
  /** In the order of their names. */
  list(): Promise<readonly Channel[]>;
  /**
   * Adds a channel, or replaces the one of its name.
   *
   * @returns it as it is stored
   * @throws {DeskbellError} ERR_FIELD_VALUE, ERR_FIELD_TYPE, also where there would be too many channels
   */
  put(channel: Channel): Promise<Channel>;
  /** @returns false if there is none */
  remove(name: string): Promise<boolean>;
}

interface ChannelRow {
  readonly name: string;
  readonly title: string;
  /** JSON */
  readonly titles: string;
  readonly is_on_by_default: number;
}

export function createChannels(database: PortableDatabase): ChannelStore {
  return {
    list: async () => {
      const rows = await database.read<ChannelRow>(
        `select * from deskbell.channels order by name collate ${database.byBytes}`,
      );
      return rows.map(({ name, title, titles, is_on_by_default }) => ({
        name,
        title,
        titles: JSON.parse(titles) as Channel['titles'],
        isOnByDefault: is_on_by_default === 1,
      }));
    },

    put: async (given) => {
      const channel = checkChannel(given);
      const { name, title, titles, isOnByDefault } = channel;
      await database.transaction(function* () {
        const others = yield* run('select 1 from deskbell.channels where name <> :name', { name });
        if (others.length >= maxChannels) throw tooMany();
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

    remove: async (name) => {
      const sql = 'delete from deskbell.channels where name = :name returning name';
      const removed = await database.writeOnce(sql, { name: name.normalize('NFC') });
      return removed.length > 0;
    },
  };
}

function tooMany(): DeskbellError {
  const detail = `There are ${maxChannels} channels already; remove one first.`;
  return fieldError('ERR_FIELD_VALUE', '/name', detail);
}
