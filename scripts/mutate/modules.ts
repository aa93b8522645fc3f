// The modules that mutation testing covers: functions and state machines that get clock and randomness as parameters, with
// tests that open nothing.
import { globSync } from 'node:fs';
import { root } from '../repository.ts';

export interface Module {
  /** The files to be changed, relative to the root. */
  readonly files: readonly string[];
  /** The tests that must notice. */
  readonly tests: readonly string[];
}

export const modules: Readonly<Record<string, Module>> = {
  protocol: find(['src/protocol/!(index).ts'], ['test/protocol/!(interoperability*).test.ts']),
  messages: find(['src/protocol/message/*.ts'], ['test/protocol/message/!(new-member*).test.ts']),
  audience: find(['src/audience/*.ts'], ['test/audience/*.test.ts']),
  pace: find(
    ['src/transport/{pacing,breaker,admission,protocol-error-pauses}.ts'],
    ['test/transport/{pacing,breaker,admission}.test.ts'],
  ),
  retry: find(['src/delivery/settings/retry-policy.ts'], ['test/delivery/retry-policy.test.ts']),
  'row-results': find(['src/delivery/worker/record.ts'], ['test/delivery/record.test.ts']),
  recurrence: find(['src/delivery/schedule/recurrence.ts'], ['test/delivery/recurrence.test.ts']),
};

/** Shows that a mutant reaches the code that is tested, and that a failing test is noticed. */
export const planted = find(['test/mutate/*tested.ts'], ['test/mutate/planted-mutants.ts']);

/** @throws {Error} nothing fits a pattern */
function find(files: readonly string[], tests: readonly string[]): Module {
  return { files: files.flatMap(findFiles), tests: tests.flatMap(findFiles) };
}

function findFiles(pattern: string): readonly string[] {
  const found = globSync(pattern, { cwd: root });
  if (found.length === 0) throw new Error(`scripts/mutate/modules.ts: no file fits ${pattern}.`);
  return found.sort();
}
