// Promises of docs/sending.md.
import type { DocumentedPromise } from '../promise.ts';

const heldDeletions = 'test/store/held-deletions-suite.ts';
const perPerson = 'test/store/per-person-suite.ts';

const limit = 'const answersPerAcceptance = 20;';

export const sending: readonly DocumentedPromise[] = [
  {
    claim:
      'Subscriptions that are gone are deleted where their push service accepts at least 5 %, and held where it accepts less',
    test: { file: heldDeletions, title: 'a push service that accepts' },
    changes: Object.fromEntries(
      ['src/store/sqlite/gone-marks.ts', 'src/store/postgres/functions/gone-marks.ts'].map((file) => [
        file,
        {
          'the limit is 4 %': [limit, 'const answersPerAcceptance = 25;'],
          'the limit is more than 5 %': [limit, 'const answersPerAcceptance = 19;'],
        },
      ]),
    ),
  },
  {
    claim:
      'An operator who confirms held deletions deletes those that are held, and one who discards them keeps those',
    test: { file: heldDeletions, title: 'what is confirmed or discarded is what is held' },
    changes: {
      'src/store/sqlite/sqlite-held-deletions.ts': {
        '`confirm` deletes what is marked and not held': ['and is_held = 1)', ')'],
        '`discard` clears marks that are not held': ["and is_held = 1',", "',"],
      },
      'src/store/postgres/postgres-held-deletions.ts': {
        '`confirm` deletes what is marked and not held': ['and m.is_held and', 'and'],
        '`discard` clears marks that are not held': ["where origin = $1 and is_held'", "where origin = $1'"],
      },
    },
  },
  {
    claim: 'A cap per person counts from the first acceptance of a broadcast, on whichever device',
    test: { file: perPerson, title: 'counts from the first of the devices that accepts' },
    changes: {
      'src/store/sqlite/person-reaches.ts': {
        'it counts from the last acceptance': ['is_accepted = 1 where is_accepted = 0', 'is_accepted = 1'],
      },
      'src/store/postgres/functions/person-reaches.ts': {
        'it counts from the last acceptance': ['where not r.is_accepted', ''],
      },
    },
  },
  {
    claim: 'A cap per person counts what a broadcast that is paused may still send',
    test: { file: perPerson, title: 'counts what a broadcast that is paused may still send' },
    changes: {
      'src/store/sqlite/person-reaches.ts': {
        'a pause ends what is reserved': ["b.state in ('running', 'paused')", "b.state = 'running'"],
      },
      'src/store/postgres/functions/person-reaches.ts': {
        'a pause ends what is reserved': ["b.state in ('running', 'paused')", "b.state = 'running'"],
      },
    },
  },
];
