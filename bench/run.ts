// `npm run bench` runs every section, `npm run bench -- service` those that are named. A section is a file in this
// folder that exports `bench`. With `--quick` a section that can gives rougher figures sooner; `--rows 100000` sets how many
// rows "postgres" has, `--against FOLDER` what "versions" compares with.
import { readdir } from 'node:fs/promises';
import { cpus } from 'node:os';
import { basename } from 'node:path';
import { readOptions } from '../scripts/read-options.ts';

const thisFile = basename(import.meta.filename);
const names = (await readdir(import.meta.dirname))
  .filter((file) => file.endsWith('.ts') && file !== thisFile)
  .map((file) => basename(file, '.ts'));
const { positionals: wanted, values } = readOptions({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    rows: { type: 'string' },
    against: { type: 'string' },
  },
});
const { quick, against } = values;
const rows = values.rows === undefined ? undefined : Number(values.rows);
const unknown = wanted.filter((name) => !names.includes(name));

if (unknown.length > 0) {
  console.error(`There is no section ${unknown.join(', ')}; there are ${names.join(', ')}.`);
  process.exitCode = 2;
} else if (rows !== undefined && !(Number.isInteger(rows) && rows > 0)) {
  console.error(`--rows is "${values.rows}"; it must be a whole number, such as 100000.`);
  process.exitCode = 2;
} else {
  const [{ model } = { model: 'unknown' }] = cpus();
  console.log(`Node ${process.versions.node}, ${cpus().length} × ${model}\n`);
  for (const name of wanted.length > 0 ? wanted : names) {
    const section = (await import(`./${name}.ts`)) as {
      bench(options: {
        readonly quick: boolean;
        readonly rows: number | undefined;
        readonly against: string | undefined;
      }): Promise<void>;
    };
    await section.bench({ quick, rows, against });
  }
}
