// Says that an import has found no user or tags, and what the rows have instead: people who are imported without them get
// no message.
import type { NewSubscription } from '../../store/subscriptions.ts';
import { describeNames, type Row } from './given-members.ts';
import { defaultColumns, isPlainName, type ColumnNames } from './member-names.ts';

export interface MissedColumns {
  note(row: Row, imported: NewSubscription): void;
  /** One sentence for each column that was asked for and never there, or that has another name, it seems. */
  sentences(): readonly string[];
}

/** Names that applications give a column of users: not "user_agent". */
const userName = /(?:user|customer|account|member|owner|subscriber|subscribable)_?id$|^(?:uid|user_?name)$/i;

/** @param asked as the flags give them */
export function createMissedColumns(asked: {
  readonly [Name in keyof ColumnNames]: string | undefined;
}): MissedColumns {
  let first: Row | undefined;
  let hasUser = false;
  let hasTags = false;
  return {
    note(row, { assign }) {
      first ??= row;
      hasUser ||= assign?.user !== undefined;
      hasTags ||= (assign?.tags ?? []).length > 0;
    },
    sentences() {
      if (first === undefined) return [];
      const absent = [hasUser ? undefined : asked.user, hasTags ? undefined : asked.tags];
      const likely = Object.keys(first).find((name) => userName.test(name) && isPlainName(name));
      return [
        ...absent.flatMap((name) =>
          name === undefined
            ? []
            : [`No row has anything in "${name}". The first one has: ${describeNames(first!)}.`],
        ),
        ...(hasUser || asked.user !== undefined || likely === undefined
          ? []
          : [
              `No row has a user in "${defaultColumns.user}". If "${likely}" holds it, import again with ` +
                `--user-column ${likely}.`,
            ]),
      ];
    },
  };
}
