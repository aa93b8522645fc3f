// Mutates one module in processes of its own, for as long as there is time, and tells what came of each mutant.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { root } from '../repository.ts';
import type { Module } from './modules.ts';
import type { MutantResult, Report } from './reporter.ts';

export interface Outcome {
  /** How many mutants there are; undefined where time was up before they were counted. */
  readonly planned: number | undefined;
  readonly results: readonly MutantResult[];
}

/** Longer ones fire at once. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * @param leftMs what is still running then is killed
 * @throws {Error} Stryker failed, for example because a test fails without a mutant
 */
export async function mutateModule(module: Module, leftMs: number): Promise<Outcome> {
  if (leftMs <= 0) return { planned: undefined, results: [] };
  // Stryker's runner starts `node`, whichever is first on the path.
  const PATH = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`;
  const words = [join(import.meta.dirname, 'run-stryker.ts'), JSON.stringify(module)];
  const child = spawn(process.execPath, words, {
    cwd: root,
    env: { ...process.env, PATH },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // a process group of its own, which ends with all that Stryker has started
    detached: true,
  });
  const kill = (): void => {
    process.kill(-child.pid!, 'SIGKILL');
  };
  const results: MutantResult[] = [];
  let planned: number | undefined;
  child.on('message', (report: Report) => {
    if ('planned' in report) planned = report.planned;
    else results.push(report.result);
  });
  let isTimeUp = false;
  const timer = setTimeout(
    () => {
      isTimeUp = true;
      kill();
    },
    Math.min(leftMs, maxTimerMs),
  );
  process.once('exit', kill);
  const [exitCode] = (await once(child, 'close')) as [number | null];
  process.off('exit', kill);
  clearTimeout(timer);
  if (isTimeUp) rmSync(join(root, 'build/mutate'), { recursive: true, force: true });
  else if (exitCode !== 0) throw new Error(`Stryker ended with ${exitCode}.`);
  return { planned, results };
}

/** Where a mutant is, and what it has in place of what: `src/a.ts:3:9 "a < b" became "a <= b"`. */
export function describeMutant({ fileName, location, replacement }: MutantResult): string {
  const { start, end } = location;
  const lines = readFileSync(fileName, 'utf8')
    .split('\n')
    .slice(start.line - 1, end.line);
  const last = lines.length - 1;
  lines[last] = lines[last]!.slice(0, end.column - 1);
  lines[0] = lines[0]!.slice(start.column - 1);
  const [before, after] = [lines.join(' '), replacement ?? ''].map(shorten);
  return `${relative(root, fileName)}:${start.line}:${start.column} ${before} became ${after}`;
}

function shorten(code: string): string {
  const text = code.replaceAll(/\s+/g, ' ');
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text);
}
