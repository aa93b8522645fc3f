// Compiled code is kept for the next run, which saves up to half of the time to start. Whoever can write to the folder that it is
// kept in can have the command run code of theirs: Node compares no more than checksums, and its own choice is a folder below
// /tmp that anybody may make first. CommonJS, loaded before anything else.
const { lstatSync, mkdirSync, realpathSync, statSync }: typeof import('node:fs') = require('node:fs');
const { enableCompileCache }: typeof import('node:module') = require('node:module');
const { homedir }: typeof import('node:os') = require('node:os');
const { dirname, join }: typeof import('node:path') = require('node:path');

/** Keeps it in the home directory, if that belongs to the user of this process; without one, nothing is kept. */
exports.keepCompiledCode = (): void => {
  try {
    const home = homedir();
    const folder = join(home, '.cache', 'deskbell', 'compiled');
    // as root with the environment of somebody else
    if (!belongsToUs(statSync(home))) return;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (belongsToUs(lstatSync(folder)) && isProtected(realpathSync(folder))) enableCompileCache(folder);
  } catch {
    // a user without a home, or one that cannot be written to: each run compiles
  }
};

/** No other user can put another folder in the place of this one or of one above it: links are followed by now. */
function isProtected(folder: string): boolean {
  const above = dirname(folder);
  const { uid, mode } = statSync(folder);
  const isSafe = process.getuid === undefined || uid === 0 || uid === process.getuid();
  // in a folder such as /tmp, only the owner of a folder replaces it
  const isOpen = (mode & 0o022) !== 0 && (mode & 0o1000) === 0 && process.getuid !== undefined;
  return isSafe && !isOpen && (above === folder || isProtected(above));
}

/** Nobody else can change what is in the folder. Windows, which has no such numbers, keeps others out of a home by itself. */
function belongsToUs({ uid, mode }: { readonly uid: number; readonly mode: number }): boolean {
  return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
}
