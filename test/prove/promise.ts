// What a row of `promises/` is: a promise of a page in docs/ that the specification does not ask for, the test that shows
// it, and changes of the source that the test notices.
import type { NamedTest } from '../../scripts/requirements.ts';
import { changesOf, type SourceChange } from './source-change.ts';

export interface DocumentedPromise {
  readonly claim: string;
  /** As it is written; one of a suite in test/store/ is run on the database whose source is changed. */
  readonly test: NamedTest;
  /** By file, then by what is wrong after the change: see `SourceChange`. */
  readonly changes: Readonly<Record<string, Parameters<typeof changesOf>[1]>>;
}

const isStoreSuite = (file: string): boolean => /^test\/store\/[\w-]+-suite\.ts$/.test(file);

const databases = [
  { name: 'PostgreSQL', source: 'src/store/postgres/', test: 'test/store/postgres-store.test.ts' },
  { name: 'SQLite', source: 'src/store/', test: 'test/store/sqlite-store.test.ts' },
] as const;

/** The changes that break a promise, each with the test to run. */
export function changesOfPromise({ test, changes }: DocumentedPromise): readonly SourceChange[] {
  return Object.entries(changes).flatMap(([file, ofFile]) => {
    const database = isStoreSuite(test.file) && databases.find(({ source }) => file.startsWith(source));
    if (!database) return changesOf(file, ofFile, test);
    return changesOf(file, ofFile, { ...test, file: database.test }).map((change) => ({
      ...change,
      what: `${database.name}: ${change.what}`,
    }));
  });
}
