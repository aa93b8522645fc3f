// Promises of docs/importing.md.
import type { DocumentedPromise } from '../promise.ts';

export const importing: readonly DocumentedPromise[] = [
  {
    claim: 'The error of a row without a subscription shows names of its members and never a value',
    test: { file: 'test/cli/subscriptions.test.ts', title: 'where a row has no subscription' },
    changes: {
      'src/cli/input/member-names.ts': {
        'what is no plain name is shown too': ['names.filter((name) => isShown(name))', 'names'],
      },
      'src/cli/input/given-members.ts': {
        'values are shown': ['listNames(Object.keys(value))', 'JSON.stringify(value)'],
      },
    },
  },
  {
    claim: 'An endpoint that stands in an earlier row is updated',
    test: {
      file: 'test/store/store-suite.ts',
      title: 'putAll takes rows with one endpoint one after the other',
    },
    changes: {
      'src/store/postgres/subscriptions.ts': {
        'the first row counts': [
          'for (const rows of sets) await',
          'for (const rows of sets.slice(0, 1)) await',
        ],
        'the last row counts': ['for (const rows of sets) await', 'for (const rows of sets.slice(-1)) await'],
      },
      'src/store/sqlite/subscriptions.ts': {
        'the last row counts': ['for (const row of rows) put(row);', 'put(rows.at(-1)!);'],
      },
    },
  },
  {
    claim: 'A subscription that is stored already keeps its date, and a new one has that of its row',
    test: { file: 'test/store/store-suite.ts', title: 'putAll keeps the date of a row that is new' },
    changes: {
      'src/store/sqlite/subscriptions.ts': {
        'the date is not stored': [
          'values (:endpoint, :p256dh, :auth, :vapidKeyId, :createdAtMs, :nowMs,',
          'values (:endpoint, :p256dh, :auth, :vapidKeyId, max(:createdAtMs, :nowMs), :nowMs,',
        ],
        'a row that is there gets it': [
          'p256dh = excluded.p256dh,',
          'p256dh = excluded.p256dh, created_at_ms = excluded.created_at_ms,',
        ],
      },
      'src/store/postgres/functions/subscriptions.sql': {
        'a date may be later than now': [
          "least((given.options ->> 'createdAtMs')::bigint, now_ms)",
          "coalesce((given.options ->> 'createdAtMs')::bigint, now_ms)",
        ],
      },
    },
  },
  {
    claim: 'A file in UTF-16 is refused as such',
    test: { file: 'test/cli/subscriptions.test.ts', title: 'a file in UTF-16 is refused as such' },
    changes: {
      'src/cli/input/read-input.ts': {
        'a stream is read': ['        assertUtf8(start, name);\n', ''],
        'a small text is read': ['  assertUtf8(bytes.subarray(0, shownBytes), label);\n', ''],
        'without a byte order mark it is read': ['(fffe|feff|', '(fffe|feff|x'],
      },
    },
  },
  {
    claim: 'A row that has a user or tags replaces both of a subscription that is stored',
    test: { file: 'test/cli/people.test.ts', title: 'a row with a user or tags replaces both' },
    changes: {
      'src/cli/input/subscription-line.ts': {
        'an empty array of tags is none': [
          'tags === undefined) return',
          '!(tags?.value as [])?.length) return',
        ],
        'tags alone are ignored': ['tags === undefined) return', 'true) return'],
      },
    },
  },
  {
    claim: 'Members and columns are found with `-` in their names too',
    test: { file: 'test/cli/subscriptions.test.ts', title: 'names of members may be in any case' },
    changes: {
      'src/cli/input/member-names.ts': {
        'signs other than _ and . are part of a name': [String.raw`/[^\p{L}\d]/gu`, '/[_.]/gu'],
      },
    },
  },
  {
    claim: 'The command says that no row has a user or tags only where none has',
    test: { file: 'test/cli/people.test.ts', title: 'an import that finds no user or tags' },
    changes: {
      'src/cli/input/missed-columns.ts': {
        'the last row decides on users': ['hasUser ||=', 'hasUser ='],
        'the last row decides on tags': ['hasTags ||=', 'hasTags ='],
      },
    },
  },
  {
    claim: 'Of lines that are not valid, an import without `--json` prints the first twenty',
    test: { file: 'test/cli/subscriptions.test.ts', title: 'of lines that are not valid, the first twenty' },
    changes: {
      'src/cli/commands/subscriptions-import.ts': {
        'it prints all': ['counts.refused <= maxShown', 'counts.refused > 0'],
        'it does not say how many more there are': ['!json && counts.refused > maxShown', 'false'],
      },
    },
  },
];
