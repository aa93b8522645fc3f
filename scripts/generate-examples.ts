// Writes the examples into the pages of docs/ that show them: each code block that follows a comment with a path, such as
// `<!-- examples/express.ts -->`, is that file. With --check it writes nothing and fails where a page differs.
import { readFileSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writePage } from './write-page.ts';
import { root } from './repository.ts';

const shownFile = /(<!-- (examples\/\S+) -->\n+```\w+\n).*?^```$/gms;

for await (const path of glob('docs/*.md', { cwd: root })) {
  const page = await readFile(join(root, path), 'utf8');
  await writePage(
    path,
    page.replaceAll(shownFile, (_block, start: string, file: string) => {
      return `${start}${readFileSync(join(root, file), 'utf8')}\`\`\``;
    }),
  );
}
