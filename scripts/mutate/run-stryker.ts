// Runs Stryker on one module, and sends what comes of each mutant to the process that has started it.
import { Stryker } from '@stryker-mutator/core';
import type { Module } from './modules.ts';

const { files, tests } = JSON.parse(process.argv[2]!) as Module;

await new Stryker({
  mutate: [...files],
  testRunner: 'tap',
  plugins: ['@stryker-mutator/tap-runner', `${import.meta.dirname}/reporter.ts`],
  tap: {
    testFiles: [...tests],
    nodeArgs: ['--test-reporter=tap', '--require', '{{hookFile}}', '{{testFile}}'],
  },
  coverageAnalysis: 'perTest',
  concurrency: 2,
  reporters: ['sending'],
  ignorePatterns: ['build', 'dist', 'bench', 'docs'],
  tempDirName: 'build/mutate',
  logLevel: 'error',
  // There is none of this name: the compiler that the file is rewritten with has no programming interface any more.
  tsconfigFile: 'none',
  allowEmpty: false,
} as ConstructorParameters<typeof Stryker>[0]).runMutationTest();
process.disconnect!();
