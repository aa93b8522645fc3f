// Puts files into the pages of docs/ that show them: the block after `<!-- file: examples/… -->` is that file. So what a
// page shows is what the tests run. With --check it writes nothing and fails where a page differs.
import { glob, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { writePage } from './write-page.ts';

const root = join(import.meta.dirname, '..');

const languages: Readonly<Record<string, string>> = {
  '.ts': 'ts',
  '.js': 'js',
  '.html': 'html',
  '.yml': 'yaml',
};

for await (const path of glob('docs/*.md', { cwd: root })) {
  let page = await readFile(join(root, path), 'utf8');
  for (const [block, marker, file] of page.matchAll(/(<!-- file: (\S+) -->\n)\n```\w+\n[^]*?^```\n/gm)) {
    const content = await readFile(join(root, file!), 'utf8');
    page = page.replace(
      block,
      () => `${marker!}\n\`\`\`${languages[extname(file!)] ?? ''}\n${content}\`\`\`\n`,
    );
  }
  await writePage(path, page);
}
