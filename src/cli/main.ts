#!/usr/bin/env node
// The command's entry: ties the process to a command line run. Everything else is told what it needs.
import { createOutput } from './output.ts';
import { runCommandLine } from './program.ts';

const stop = new AbortController();

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // Once: a second signal ends the process at once, as the system does by itself.
  process.once(signal, () => stop.abort());
}

const output = createOutput(process, (error) => {
  if (error.code !== 'EPIPE') {
    output.remark(`deskbell: standard output cannot be written: ${error.message}`);
    process.exitCode = 1;
  }
  stop.abort();
});

const exitCode = await runCommandLine(process.argv.slice(2), {
  environment: process.env,
  input: process.stdin,
  output,
  stop: stop.signal,
});
process.exitCode ||= exitCode;
