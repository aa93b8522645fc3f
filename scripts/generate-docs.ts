// Writes the pages of docs/ that come from the code: errors.md from the error catalogue, configuration.md from the
// configuration schema; then runs the generators beside it (generate-*.ts). With --check they write nothing and fail
// where a page differs from what the code says.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { glob } from 'node:fs/promises';
import { basename, join } from 'node:path';
import {
  settingGroups,
  settings,
  flagOf,
  variableOf,
  type SettingName,
} from '../src/cli/configuration/configuration.ts';
import type { Setting } from '../src/cli/configuration/setting.ts';
import {
  type CatalogueEntry,
  fieldErrors,
  libraryErrors,
  operatorErrors,
  serviceErrors,
} from '../src/errors/catalogue.ts';
import { tableRow, writePage } from './write-page.ts';

await writePage('docs/errors.md', renderErrors());
await writePage('docs/configuration.md', renderConfiguration());

for await (const generator of glob('generate-*.ts', { cwd: import.meta.dirname })) {
  if (generator === basename(import.meta.filename)) continue;
  const words = [join(import.meta.dirname, generator), ...process.argv.slice(2)];
  const [exitCode] = await once(spawn(process.execPath, words, { stdio: 'inherit' }), 'exit');
  process.exitCode ||= exitCode as number;
}

function renderErrors(): string {
  return page(
    'Errors',
    'src/errors/',
    `Every error has a stable code. The public service responds with \`application/problem+json\` (RFC 9457), with the code
in the \`code\` field. The library throws a \`DeskbellError\` with a \`code\` property. A command prints the error's code
at the end of a line on standard error. The *Retry* column says whether the same call may succeed later without any
change.

## Errors of the service`,
    [
      tableRow('Code', 'Status', 'Retry', 'Meaning', 'What to do'),
      tableRow(...Array.from({ length: 5 }, () => '---')),
      ...Object.entries(serviceErrors).map(([code, entry]) =>
        tableRow(`\`${code}\``, String(entry.status), ...errorCells(entry)),
      ),
      '',
      '## Errors of the operator’s listener',
      '',
      'If something is wrong with the HTTP request itself, such as its size or method, the operator’s listener ' +
        'responds with one of the errors of the service.',
      '',
      tableRow('Code', 'Status', 'Retry', 'Meaning', 'What to do'),
      tableRow(...Array.from({ length: 5 }, () => '---')),
      ...Object.entries(operatorErrors)
        .filter(([code]) => !Object.hasOwn(serviceErrors, code))
        .map(([code, entry]) => tableRow(`\`${code}\``, String(entry.status), ...errorCells(entry))),
      '',
      '## Errors of one field, in the list `errors` of a problem',
      '',
      ...renderErrorTable(fieldErrors),
      '',
      '## Errors of the library and the command',
      '',
      ...renderErrorTable(libraryErrors),
    ],
  );
}

function renderErrorTable(entries: Readonly<Record<string, CatalogueEntry>>): string[] {
  return [
    tableRow('Code', 'Retry', 'Meaning', 'What to do'),
    tableRow(...Array.from({ length: 4 }, () => '---')),
    ...Object.entries(entries).map(([code, entry]) => tableRow(`\`${code}\``, ...errorCells(entry))),
  ];
}

function errorCells({ isRetryable, title, remedy }: CatalogueEntry): string[] {
  return [isRetryable ? 'yes' : 'no', title, remedy];
}

function renderConfiguration(): string {
  const tables = settingGroups.map(({ heading, names }) => [
    `## ${heading}`,
    '',
    tableRow('Entry', 'What it is for', 'Takes', 'Default'),
    tableRow('---', '---', '---', '---'),
    ...names.map(settingRow),
  ]);
  return page(
    'Configuration',
    'src/cli/configuration/configuration.ts',
    `You can set each entry of the tables below in the configuration file, with a flag or with an environment variable. If an
entry is set in several places, Deskbell uses the first of these values:

1. the flag
2. the environment variable
3. the value in the configuration file
4. the value in \`settings.json\` in the data directory, which \`serve\` writes
5. the default

\`--config FILE\` or \`DESKBELL_CONFIG\` gives the path of the configuration file. The file contains one JSON object. Paths
in the file are relative to the file's directory. A list is an array in the file; in a flag or variable, commas separate
the elements. An unknown entry, an unknown \`DESKBELL_\` variable or an invalid value causes an error that lists the valid
values. Each command has flags for the configuration entries that it uses (see \`deskbell serve --help\`).

Deskbell also reads these environment variables:

- If \`DESKBELL_DEBUG\` is set, Deskbell prints stack traces, as with \`--debug\`.
- \`DESKBELL_WEB_PUSH_TRANSPORT\` sets the transport of [\`deskbell/web-push\`](migrating-from-web-push.md#tests-that-replace-httpsrequest).
- \`HTTPS_PROXY\` or \`ALL_PROXY\` sets an HTTP proxy for connections to push services. As in curl, the hosts in
  \`NO_PROXY\` are exceptions. Deskbell does not read \`HTTP_PROXY\`, since push services use https.`,
    tables
      .map((table) => table.join('\n'))
      .join('\n\n')
      .split('\n'),
  );
}

function settingRow(name: SettingName): string {
  const { description, valid, unit, defaultLabel, default: value }: Setting<unknown> = settings[name];
  const fallback = defaultLabel ?? `\`${Array.isArray(value) ? value.join(',') : String(value)}\``;
  return tableRow(
    `\`${name}\`<br>\`${flagOf(name)}\`<br>\`${variableOf(name)}\``,
    description,
    unit === undefined ? valid : `${valid} (${unit})`,
    fallback,
  );
}

function page(title: string, source: string, introduction: string, table: readonly string[]): string {
  return `# ${title}\n\n<!-- Made from ${source} by \`npm run docs\`. -->\n\n${introduction}\n\n${table.join('\n')}\n`;
}
