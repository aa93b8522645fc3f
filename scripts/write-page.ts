// Writes a page of docs/ that is made from the code. With --check it writes nothing, and the process fails where the page
// differs from what the code says.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** @param path from the root */
export async function writePage(path: string, content: string): Promise<void> {
  const file = join(import.meta.dirname, '..', path);
  if ((await readFile(file, 'utf8').catch(() => '')) === content) return;
  if (process.argv.includes('--check')) {
    console.error(`${path} is not what the code says. Run: npm run docs`);
    process.exitCode = 1;
  } else {
    await writeFile(file, content);
    console.log(`${path} written`);
  }
}

/** A row of a table. */
export const tableRow = (...cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`)).join(' | ')} |`;

/** The anchor that GitHub gives to a heading. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
