// The data directories that earlier versions left (test/fixtures/), whose databases are compressed.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const fixtures = join(import.meta.dirname, '../fixtures');

/** @param folder one that is there; its files get the rights that the version gave them, which version control does not keep */
export function copyOldData(name: 'data-0.1.0' | 'data-schema-7', folder: string): void {
  for (const file of readdirSync(join(fixtures, name))) {
    const bytes = readFileSync(join(fixtures, name, file));
    const content = file.endsWith('.gz') ? gunzipSync(bytes) : bytes;
    writeFileSync(join(folder, file.replace(/\.gz$/, '')), content, { mode: 0o600 });
  }
}
