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
    `Every error has a stable code. The public service answers with \`application/problem+json\` (RFC 9457) and the code in
the member \`code\`; the library throws a \`DeskbellError\` with the property \`code\`; the command prints it at the end of
its line on standard error. *Retry* says whether the same call may succeed later without being changed.

## Answered by the service`,
    [
      tableRow('Code', 'Status', 'Retry', 'Meaning', 'What to do'),
      tableRow(...Array.from({ length: 5 }, () => '---')),
      ...Object.entries(serviceErrors).map(([code, entry]) =>
        tableRow(`\`${code}\``, String(entry.status), ...errorCells(entry)),
      ),
      '',
      '## Answered by the operator’s listener',
      '',
      'Besides those of the service that concern HTTP itself:',
      '',
      tableRow('Code', 'Status', 'Retry', 'Meaning', 'What to do'),
      tableRow(...Array.from({ length: 5 }, () => '---')),
      ...Object.entries(operatorErrors)
        .filter(([code]) => !Object.hasOwn(serviceErrors, code))
        .map(([code, entry]) => tableRow(`\`${code}\``, String(entry.status), ...errorCells(entry))),
      '',
      '## Of one field, in the list `errors` of a problem',
      '',
      ...renderErrorTable(fieldErrors),
      '',
      '## Thrown by the library, printed by the command',
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
    `Each entry has a name in the configuration file, a flag and an environment variable. A flag takes precedence over the
variable, the variable over the file, the file over what the data directory keeps (\`settings.json\`, which \`serve\` writes), and that over the default. The file is one JSON object, named by \`--config FILE\`
or \`DESKBELL_CONFIG\`; paths in it are relative to the file's directory. Lists are arrays in the file and are
joined by commas elsewhere. Unknown entries, unknown \`DESKBELL_\` variables and values that are not valid are errors that list
what is valid. A command has a flag for each entry that it uses (\`deskbell serve --help\`).

Deskbell reads three more variables. \`DESKBELL_DEBUG\`, when set, prints stack traces as \`--debug\` does.
\`DESKBELL_WEB_PUSH_TRANSPORT\` is for [\`deskbell/web-push\`](migrating-from-web-push.md#tests-that-replace-httpsrequest). \`HTTPS_PROXY\` or
\`ALL_PROXY\` names an HTTP proxy for connections to push services, except to the hosts in \`NO_PROXY\`, as in curl;
\`HTTP_PROXY\` is not read, since push services are https.`,
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
