// Which files of the repository become pages: README as the start page, docs/, what they link to, and one page for each name that the
// package exports. The navigation is the index in docs/README.md.
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { basename, extname, join, posix } from 'node:path';
import { conformancePage } from './conformance.ts';
import { libraryPages, librarySource } from './library.ts';
import { addressOf, type NavigationGroup, type Page } from './page.ts';

export const root = join(import.meta.dirname, '..');

const index = 'docs/README.md';
const named: Readonly<Record<string, string>> = {
  'README.md': 'index.md',
  [index]: 'documentation.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'reporting-vulnerabilities.md',
};

function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** The pages made of Markdown, those of the library, the one of conformance, and the files of the repository that these link to. */
export async function readPages(): Promise<readonly Page[]> {
  const sources = [...Object.keys(named), ...globSync('docs/*.md', { cwd: root })].filter(
    (path) => path !== librarySource,
  );
  const pages = [...new Set(sources)].map((source): Page => ({
    path: named[source] ?? basename(source),
    source,
    title: titleOf(readText(source)),
    markdown: readText(source),
  }));
  return [...pages, ...libraryPages(readText(librarySource)), await conformancePage(), ...linkedFiles(pages)];
}

/** @returns the groups of the index, and what concerns the project after them */
export function readNavigation(pages: readonly Page[]): readonly NavigationGroup[] {
  const [, ...groups] = readText(index).split(/^## /m);
  const project = groups.at(-1)?.split('\n\n').at(-1) ?? '';
  const linksIn = (text: string) =>
    Array.from(text.matchAll(/\]\(([\w./-]+\.md)\)/g), ([, target = '']) => {
      const source = posix.join('docs', target);
      const page = pages.find((each) => each.source === source);
      if (page === undefined) throw new Error(`${index} lists ${target}, which is no page.`);
      return { text: page.title, link: addressOf(page) };
    });
  return [
    ...groups.map((group) => ({
      text: group.slice(0, group.indexOf('\n')),
      items: linksIn(group.replace(project, '')),
    })),
    { text: 'Project', items: [...linksIn(project), { text: 'Conformance', link: '/conformance' }] },
  ];
}

function titleOf(markdown: string): string {
  return /^# (.+)$/m.exec(markdown)?.[1] ?? '';
}

/** Files and folders of the repository that pages link to and that are no pages: each becomes a page with its text. */
function linkedFiles(pages: readonly Page[]): readonly Page[] {
  const targets = pages.flatMap(({ source, markdown }) =>
    Array.from(markdown.matchAll(/\]\((?![a-z]+:|#)([^)\s#]+)/g), ([, target = '']) =>
      posix.join(posix.dirname(source), target).replace(/\/$/, ''),
    ),
  );
  return [...new Set(targets)]
    .filter((path) => !/\.(?:md|png|svg)$/.test(path) && existsSync(join(root, path)))
    .map((path) => ({
      path: `files/${path.replaceAll('.', '-')}.md`,
      source: path,
      title: path,
      markdown: showFile(path),
    }));
}

function showFile(path: string): string {
  if (!statSync(join(root, path)).isDirectory()) return `# ${path}\n\n${fence(path)}`;
  const files = globSync('**/*', { cwd: join(root, path), withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => posix.join(path, posix.relative(join(root, path), join(entry.parentPath, entry.name))))
    .sort();
  return [`# ${path}`, ...files.map((file) => `## ${posix.relative(path, file)}\n\n${fence(file)}`)].join(
    '\n\n',
  );
}

function fence(path: string): string {
  return `\`\`\`\`\`${extname(path).slice(1)}\n${readText(path).trimEnd()}\n\`\`\`\`\``;
}
