// Keeps compiled code for the next run, which saves up to half of the time to start. Node's own choice of a folder is below
// /tmp, where another user may have made it first, and Node compares no more than checksums.
const { enableCompileCache }: typeof import('node:module') = require('node:module');
const {
  ownCacheFolder,
}: typeof import('../accelerator/cache-folder.ts') = require('../accelerator/cache-folder.ts');

exports.keepCompiledCode = (): void => {
  const folder = ownCacheFolder('compiled');
  // Deno has no such function
  if (folder !== undefined) enableCompileCache?.(folder);
};
