// Writes the table of what bells understand (src/bells/tools.ts) into docs/bells.md. With --check it writes nothing and fails where it differs.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tools } from '../src/bells/tools.ts';
import { tableRow, writePage } from './write-page.ts';

const page = await readFile(join(import.meta.dirname, '../docs/bells.md'), 'utf8');
const table = [
  tableRow('From', 'Recognised by', 'Title', 'Text', 'A click opens', 'Urgency', 'Replaces', 'Answer'),
  tableRow(...Array.from({ length: 8 }, () => '---')),
  ...tools.map(
    ({ name, recognisedBy, title, text, link = '', urgency = '', replaces = 'nothing', answer = 'JSON' }) =>
      tableRow(name, recognisedBy, title, text, link, urgency, replaces, answer),
  ),
].join('\n');
await writePage(
  'docs/bells.md',
  page.replace(/(<!-- tools:[^>]*-->\n)[^]*?(<!-- end of tools -->)/, `$1\n${table}\n\n$2`),
);
