// Writes docs/library.md: every name that the package exports, with its comment and declaration. With --check it writes
// nothing and fails where the page differs.
import { readEntries, type Declaration, type Entry } from './exported-names.ts';
import { anchorOf, writePage } from './write-page.ts';

const entries = readEntries();

await writePage(
  'docs/library.md',
  `# Library

<!-- Made from the comments in src/ by \`npm run docs\`. -->

This page lists what each entry of the package exports. In each section, functions and classes come first, then the types
in their signatures. The package has these entries:

${entries.map(({ specifier, header }) => `- [\`${specifier}\`](#${anchorOf(specifier)}): ${summaryOf(header)}`).join('\n')}

${entries.map(renderEntry).join('\n\n')}
`,
);

/** The first sentence of a file's comment, without the name of the entry. */
function summaryOf(header: string): string {
  const text = header.replaceAll(/^\/\/ ?/gm, '').replaceAll('\n', ' ');
  return (/^(?:`[^`]+`: )?(.*?\.)(?: |$)/.exec(text)?.[1] ?? text).trim();
}

function isValue({ kind }: Declaration): boolean {
  return kind !== 'interface' && kind !== 'type';
}

function renderEntry({ specifier, declarations }: Entry, index: number): string {
  const sorted = [...declarations.filter(isValue), ...declarations.filter((each) => !isValue(each))];
  return [`## ${specifier}`, ...sorted.map((each) => renderDeclaration(each, entries.slice(0, index)))].join(
    '\n\n',
  );
}

/** @param earlier entries that may have described it already */
function renderDeclaration(declaration: Declaration, earlier: readonly Entry[]): string {
  const { name, comment = '', code, kind } = declaration;
  const known = earlier.find(({ declarations }) =>
    declarations.some((other) => other.name === name && other.file === declaration.file),
  );
  if (known !== undefined)
    return `### ${name}\n\n\`${name}\` is the same as [in \`${known.specifier}\`](#${anchorOf(name)}).`;
  const { text, examples } = readComment(comment);
  return [
    `### ${name}`,
    text,
    ...examples.map((example) => `\`\`\`typescript\n${example}\n\`\`\``),
    // Not `ts`: it is no program, and the tests compile those.
    `\`\`\`typescript\n${kind === 'class' ? publicPart(code) : code}\n\`\`\``,
  ].join('\n\n');
}

function isExample(tag: string): boolean {
  return tag.startsWith('@example');
}

/** @returns the comment as Markdown, and the code of its examples */
function readComment(comment: string): { readonly text: string; readonly examples: readonly string[] } {
  const text = comment
    .replace(/^\/\*\*\s?/, '')
    .replace(/\s*\*\/\s*$/, '')
    .replaceAll(/^ ?\* ?/gm, '')
    .trim();
  const [description = '', ...tags] = text.split(/^(?=@\w+)/m);
  const others = tags
    .filter((tag) => !isExample(tag))
    .map((tag) => `- ${describeTag(tag.trim().replaceAll(/\n\s*/g, ' '))}`);
  return {
    text: [
      description.trim().replaceAll(/([^\n])\n *(?=[^\n -])/g, '$1 '),
      ...(others.length > 0 ? [others.join('\n')] : []),
    ].join('\n\n'),
    examples: tags.filter(isExample).map((tag) => tag.replace(/^@example\s*/, '').trim()),
  };
}

function describeTag(tag: string): string {
  return tag
    .replace(/^@param (\S+) /, '`$1`: ')
    .replace(/^@typeParam (\S+) /, 'Type parameter `$1`: ')
    .replace(/^@returns /, 'Returns ')
    .replace(
      /^@throws (?:\{(\w+)\} )?/,
      (_whole, error: string | undefined) => `Throws ${error === undefined ? '' : `\`${error}\`: `}`,
    )
    .replace(/^@see /, 'See ')
    .replace(/^@deprecated /, 'Deprecated: ');
}

/** A class without its private fields and the bodies of its methods. */
function publicPart(code: string): string {
  return code
    .split('\n')
    .filter((line) => !/^ {2}(?:private |#)/.test(line) && !/^ {4}/.test(line) && line !== '  }')
    .map((line) => line.replace(/ \{$/, (end, at: number) => (line.startsWith('  ') && at > 0 ? ';' : end)))
    .join('\n');
}
