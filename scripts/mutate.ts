// Mutation testing of the modules that are pure functions, by Stryker: it changes an operator, a condition or a literal
// of the source at a time, and a test of the module must fail.
//   npm run mutate                     every module, which takes some minutes
//   npm run mutate -- protocol         one of them
// Fails where less than 85 % of a module's mutants are killed. Survivors are printed.
import { dirname, delimiter } from 'node:path';

import { Stryker } from '@stryker-mutator/core';

import { readOptions } from './read-options.ts';

interface Module {
  /** Patterns of the files to be changed, relative to the root. */
  readonly files: readonly string[];
  /** Patterns of the tests that must notice. */
  readonly tests: readonly string[];
}

type Mutants = Awaited<ReturnType<Stryker['runMutationTest']>>;

const leastPercent = 85;

const modules: Readonly<Record<string, Module>> = {
  protocol: {
    files: ['src/protocol/*.ts', '!src/protocol/index.ts'],
    tests: ['test/protocol/!(interoperability).test.ts'],
  },
  'retry-policy': {
    files: ['src/delivery/worker/retry-policy.ts'],
    tests: ['test/delivery/retry-policy.test.ts'],
  },
  'row-results': { files: ['src/delivery/worker/record.ts'], tests: ['test/delivery/record.test.ts'] },
  mechanisms: {
    files: ['src/service/demonstration/mechanisms/*.ts'],
    tests: ['test/service/{logging-mechanisms,session,request-time}.test.ts'],
  },
};

const { positionals } = readOptions({ allowPositionals: true });
const unknown = positionals.find((name) => !Object.hasOwn(modules, name));
if (unknown !== undefined) {
  console.error(`There is no module "${unknown}"; there are ${Object.keys(modules).join(', ')}.`);
  process.exit(2);
}
// Stryker's runner starts `node`, whichever is first on the path.
process.env['PATH'] = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`;

await assertPlantedMutants();
for (const [name, module] of Object.entries(modules)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  const percent = percentKilled(await mutate(module, ['clear-text']));
  console.log(`${name}: ${percent.toFixed(1)} % of the mutants are killed.`);
  if (percent >= leastPercent) continue;
  console.error(`${name}: at least ${leastPercent} % must be.`);
  process.exitCode = 1;
}

/** Shows that a mutant reaches the code that is tested, and that a failing test is noticed. */
async function assertPlantedMutants(): Promise<void> {
  const mutants = await mutate(
    { files: ['test/mutate/*tested.ts'], tests: ['test/mutate/planted-mutants.ts'] },
    [],
  );
  for (const [file, status] of [
    ['/tested.ts', 'Killed'],
    ['/untested.ts', 'Survived'],
  ] as const) {
    const statuses = mutants.filter(({ fileName }) => fileName.endsWith(file)).map((mutant) => mutant.status);
    if (statuses.length > 0 && statuses.every((each) => each === status)) continue;
    throw new Error(`Every planted mutant of ${file} should be ${status}, not ${statuses.join(', ')}.`);
  }
}

async function mutate({ files, tests }: Module, reporters: string[]): Promise<Mutants> {
  return new Stryker({
    mutate: [...files],
    testRunner: 'tap',
    plugins: ['@stryker-mutator/tap-runner'],
    tap: {
      testFiles: [...tests],
      nodeArgs: ['--test-reporter=tap', '--require', '{{hookFile}}', '{{testFile}}'],
    },
    coverageAnalysis: 'perTest',
    concurrency: 2,
    reporters,
    clearTextReporter: { logTests: false, reportTests: false, allowColor: false },
    ignorePatterns: ['build', 'dist', 'bench', 'docs'],
    tempDirName: 'build/mutate',
    logLevel: 'error',
    // There is none of this name: the compiler that the file is rewritten with has no programming interface any more.
    tsconfigFile: 'none',
    allowEmpty: false,
  } as ConstructorParameters<typeof Stryker>[0]).runMutationTest();
}

function percentKilled(mutants: Mutants): number {
  const count = (...statuses: readonly string[]): number =>
    mutants.filter(({ status }) => statuses.includes(status)).length;
  const noticed = count('Killed', 'Timeout');
  return (100 * noticed) / (noticed + count('Survived', 'NoCoverage'));
}
