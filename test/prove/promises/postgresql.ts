// Promises of docs/postgresql.md.
import type { DocumentedPromise } from '../promise.ts';

export const postgresql: readonly DocumentedPromise[] = [
  {
    claim: 'A page whose commit is repeated, since its answer was lost, is counted once',
    test: {
      file: 'test/store/postgres-database.test.ts',
      title: 'counts a page once though the answer to its commit was lost',
    },
    changes: {
      'src/store/postgres/functions/rows.ts': {
        'a repeated commit counts again': ['and last_commit is distinct from its_commit', ''],
      },
    },
  },
];
