// Keeps compiled code for the next run, which then starts in as little as half of the time. Node's default folder is in
// /tmp, where another user may have created it with harmful code: Node checks nothing but checksums.
const { enableCompileCache }: typeof import('node:module') = require('node:module');
const {
  ownCacheFolder,
}: typeof import('../accelerator/cache-folder.ts') = require('../accelerator/cache-folder.ts');

exports.keepCompiledCode = (): void => {
  const folder = ownCacheFolder('compiled');
  // Deno has no such function
  if (folder !== undefined) enableCompileCache?.(folder);
};
