// What several test files need and takes long to make: the first of a run that asks makes it, and the others wait for it.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fastFolder } from './fast-folder.ts';
import { until } from './until.ts';

/** The folder of a run, in the environment of all its processes. The command takes DESKBELL_… for settings. */
const variable = 'TEST_RUN_FOLDER';

/** Makes the folder of a run that begins with this process and ends with it. */
export function startRun(): void {
  const folder = mkdtempSync(join(fastFolder(), 'deskbell-run-'));
  // PostgreSQL runs as a user of its own
  chmodSync(folder, 0o755);
  process.env[variable] = folder;
  // before it is looked for what is left in the folder that it is in
  process.prependListener('exit', () => rmSync(folder, { recursive: true, force: true }));
}

/**
 * @param make puts it into the folder that it is given
 * @returns that folder
 * @throws {Error} it cannot be made, or another file of the run could not make it
 */
export async function makeOnce(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  if (process.env[variable] === undefined) startRun();
  const folder = join(process.env[variable]!, name);
  const [made, failed] = [`${folder}.made`, `${folder}.failed`];
  try {
    mkdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    await until(() => existsSync(made) || existsSync(failed), `another test file to make: ${name}`);
    if (existsSync(failed)) throw new Error(`Another test file could not make: ${name}`, { cause: error });
    return folder;
  }
  try {
    await make(folder);
    writeFileSync(made, '');
    return folder;
  } catch (error) {
    writeFileSync(failed, '');
    throw error;
  }
}
