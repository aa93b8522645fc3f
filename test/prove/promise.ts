// What a row of `promises/` is: a promise of a page in docs/ that the specification does not ask for, the test that shows
// it, and changes of the source that the test notices.
import type { NamedTest } from '../../scripts/requirements.ts';
import { changesOf, type SourceChange } from './source-change.ts';

export interface DocumentedPromise {
  readonly claim: string;
  /** Where it is written. One of a suite in test/store/ is run on the database whose source is changed. */
  readonly test: NamedTest;
  /** By file, then by what is wrong after the change: see `SourceChange`. */
  readonly changes: Readonly<Record<string, Parameters<typeof changesOf>[1]>>;
}

/** The files that run suites which are written once for several databases or browsers; one browser is enough. */
const runners = [
  {
    suite: /^test\/store\/[\w-]+-suite\.ts$/,
    source: 'src/store/postgres/',
    file: 'test/store/postgres-store.test.ts',
    name: 'PostgreSQL: ',
  },
  {
    suite: /^test\/store\/[\w-]+-suite\.ts$/,
    source: '',
    file: 'test/store/sqlite-store.test.ts',
    name: 'SQLite: ',
  },
  {
    suite: /^test\/operator\/growth-suite\.ts$/,
    source: 'src/store/postgres/',
    file: 'test/operator/growth-postgres.all.test.ts',
    name: '',
  },
  {
    suite: /^test\/browser\/(?:cookie|invitation|notification|own-worker|preferences)-suite\.ts$/,
    source: '',
    file: 'test/browser/chromium-sites.all.test.ts',
    name: '',
  },
  {
    suite: /^test\/browser\/[\w-]+-suite\.ts$/,
    source: '',
    file: 'test/browser/chromium.test.ts',
    name: '',
  },
] as const;

/** The changes that break a promise, each with the test to run. */
export function changesOfPromise({ test, changes }: DocumentedPromise): readonly SourceChange[] {
  return Object.entries(changes).flatMap(([source, ofSource]) => {
    const runner = runners.find((one) => one.suite.test(test.file) && source.startsWith(one.source));
    const { file, name } = runner ?? { file: test.file, name: '' };
    return changesOf(source, ofSource, { ...test, file }).map((change) => ({
      ...change,
      what: `${name}${change.what}`,
    }));
  });
}
