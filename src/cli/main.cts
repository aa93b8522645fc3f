#!/usr/bin/env node
// Entry of the command. Checks Node's version before loading anything else. CommonJS in syntax that Node 12 can read.
if (isNodeNewEnough()) {
  keepCompiledCode();
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

/**
 * Keeps compiled code for the next run, which then starts in as little as half of the time. Node's default folder is in
 * /tmp, where another user may have created it with harmful code: Node checks nothing but checksums.
 */
function keepCompiledCode(): void {
  const { enableCompileCache }: typeof import('node:module') = require('node:module');
  const cache: typeof import('../accelerator/cache-folder.ts') = require('../accelerator/cache-folder.ts');
  const folder = cache.ownCacheFolder('compiled');
  // Deno has no such function
  if (folder !== undefined && enableCompileCache) enableCompileCache(folder);
}
