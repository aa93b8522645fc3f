#!/usr/bin/env node
// Entry of the command. Checks Node's version before loading anything else. CommonJS in syntax that Node 12 can read.
if (isNodeNewEnough()) {
  require('./compiled-code.cts').keepCompiledCode();
  const { runProcess }: typeof import('./run-process.ts') = require('./run-process.ts');
  void runProcess();
} else process.exitCode = 1;

function isNodeNewEnough(): boolean {
  try {
    require('../require-node.cts');
    return true;
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    process.stderr.write(`${message} [${code}]\n`);
    return false;
  }
}
