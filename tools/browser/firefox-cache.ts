// What Firefox compiles of its own scripts when it first starts with a profile; with it, the next one starts in two thirds of
// the processor time. It is kept in build/ for the next time.
import { existsSync, realpathSync, statSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

const build = join(import.meta.dirname, '../../build');
/** The second one says which version made the first one, which another version does without. */
const parts = ['startupCache', 'compatibility.ini'];

/** Another one for each Firefox that is installed, and never changed. */
const keptFolder = (executablePath: string): string =>
  join(build, `firefox-${Math.trunc(statSync(realpathSync(executablePath)).mtimeMs)}`);

/** @param profile its folder, before Firefox starts */
export async function addFirefoxCache(executablePath: string, profile: string): Promise<void> {
  const kept = keptFolder(executablePath);
  if (existsSync(kept)) await copyParts(kept, profile);
}

/** @param profile its folder, after Firefox has ended */
export async function keepFirefoxCache(executablePath: string, profile: string): Promise<void> {
  const kept = keptFolder(executablePath);
  if (existsSync(kept) || !parts.every((part) => existsSync(join(profile, part)))) return;
  await mkdir(build, { recursive: true });
  const made = await mkdtemp(`${kept}-`);
  await copyParts(profile, made);
  // another test file may have been first
  await rename(made, kept).catch(() => rm(made, { recursive: true }));
}

async function copyParts(from: string, to: string): Promise<void> {
  for (const part of parts) await cp(join(from, part), join(to, part), { recursive: true });
}
