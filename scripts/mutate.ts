// Mutation testing of the modules that are pure functions, by Stryker: it changes an operator, a condition or a literal
// of the source at a time, and a test of the module must fail.
//   npm run mutate                     every module, which takes some minutes
//   npm run mutate -- protocol pace    these modules
//   npm run mutate -- --changed        of all modules the files that changed since main, or in the last commit of main, for
//                                      three minutes at most; what is left then is said, and is no failure
// Fails if less than 85 % of a module's mutants are killed, whatever becomes of those that are left. Survivors are printed. A mutant
// whose test does not end counts as killed: a busy machine can only hide a survivor, and never makes this fail.
import { findChangedFiles } from './changed-files.ts';
import { describeMutant, mutateModule } from './mutate/mutate-module.ts';
import { modules, planted, type Module } from './mutate/modules.ts';
import { readOptions } from './read-options.ts';

const leastPercent = 85;
/** Three minutes, with what npm and Node take to start and what is to be cleared away. */
const budgetMs = 170_000;

const { values, positionals } = readOptions({
  options: { changed: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const unknown = positionals.find((name) => !Object.hasOwn(modules, name));
if (unknown !== undefined) {
  console.error(`There is no module "${unknown}"; there are ${Object.keys(modules).join(', ')}.`);
  process.exit(2);
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const changed = values.changed ? new Set(findChangedFiles()) : undefined;
const chosen = Object.entries(modules)
  .filter(([name]) => positionals.length === 0 || positionals.includes(name))
  .map(([name, { files, tests }]) => ({
    name,
    module: { tests, files: files.filter((file) => changed === undefined || changed.has(file)) },
  }))
  .filter(({ module }) => module.files.length > 0);
/** By the clock of `performance.now()`, which starts with this process. */
const endMs = values.changed ? budgetMs : Infinity;

if (chosen.length === 0) console.log('No file of these modules has changed.');
else await assertPlantedMutants();
for (const { name, module } of chosen) await judge(name, module);

async function judge(name: string, module: Module): Promise<void> {
  const { planned, results } = await mutateModule(module, endMs - performance.now());
  if (planned === undefined) {
    console.log(`${name}: not reached in time: ${module.files.join(', ')}.`);
    return;
  }
  const survivors = results.filter(({ status }) => status === 'Survived' || status === 'NoCoverage');
  for (const mutant of survivors) {
    const why = mutant.status === 'NoCoverage' ? 'no test runs it' : 'no test fails';
    console.log(`${describeMutant(mutant)}: ${why}`);
  }
  const killed = results.filter(({ status }) => status === 'Killed' || status === 'Timeout').length;
  const left = planned - results.length;
  const percent = (100 * killed) / (killed + survivors.length || 1);
  const also = left > 0 ? ` ${left} of ${planned} were not reached in time.` : '';
  console.log(`${name}: ${percent.toFixed(1)} % of ${killed + survivors.length} mutants are killed.${also}`);
  const greatestPercent = (100 * (killed + left)) / (killed + left + survivors.length || 1);
  if (greatestPercent >= leastPercent) return;
  console.error(`${name}: at least ${leastPercent} % must be.`);
  process.exitCode = 1;
}

async function assertPlantedMutants(): Promise<void> {
  const { planned, results } = await mutateModule(planted, endMs - performance.now());
  if (results.length !== planned && performance.now() >= endMs) return;
  for (const [file, status] of [
    ['/tested.ts', 'Killed'],
    ['/untested.ts', 'Survived'],
  ] as const) {
    const statuses = results.filter(({ fileName }) => fileName.endsWith(file)).map((mutant) => mutant.status);
    if (statuses.length > 0 && statuses.every((each) => each === status)) continue;
    throw new Error(`Every planted mutant of ${file} should be ${status}, not ${statuses.join(', ')}.`);
  }
}
