// Markdown as GitHub renders it, to HTML: the same anchors, code in colours for light and dark, links from files to pages.
import { posix } from 'node:path';
import MarkdownIt, { type Token } from 'markdown-it';
import { createHighlighter, type ShikiTransformer } from 'shiki';
import { anchorOf } from '../scripts/write-page.ts';
import { librarySource, namesFor, pageOfAnchor } from './library.ts';
import { addressFrom, escapeHtml, type Heading, type Page } from './page.ts';

export interface RenderedPage {
  readonly content: string;
  readonly headings: readonly Heading[];
  /** The text of each heading's section, for the search. */
  readonly sections: readonly { readonly heading: Heading; readonly text: string }[];
  /** Files of the repository that the page shows, such as pictures. */
  readonly files: readonly string[];
}

const highlighter = await createHighlighter({
  themes: ['github-light-high-contrast', 'github-dark-high-contrast'],
  langs: [
    'console',
    'css',
    'html',
    'js',
    'json',
    'jsx',
    'php',
    'python',
    'sh',
    'sql',
    'systemd',
    'ts',
    'yaml',
  ],
});
const languages = new Set(highlighter.getLoadedLanguages());

const classes = new Map<string, string>();

/** The style sheet of the colours that code has had so far. */
export function renderCodeColours(): string {
  return Array.from(classes, ([style, name]) => `pre .${name} { ${style} }\n`).join('');
}

function classOf(style: string): string {
  const name = classes.get(style) ?? `c${classes.size}`;
  classes.set(style, name);
  return name;
}

export function renderMarkdown(page: Page, pages: readonly Page[]): RenderedPage {
  const markdown = new MarkdownIt({ html: true });
  const files = new Set<string>();
  const tokens = withoutEmptyHeaders(markdown.parse(page.markdown, {}));
  const sections = giveAnchors(tokens);

  const follow = (target: string): string => {
    if (/^[a-z]+:/.test(target)) return target;
    const [file = '', anchor] = target.split('#');
    const fragment = anchor === undefined ? '' : `#${anchor}`;
    if (file.startsWith('/')) return addressFrom(page.path, file.slice(1)) + fragment;
    const source =
      file === '' ? page.source : posix.join(posix.dirname(page.source), file).replace(/\/$/, '');
    if (source === librarySource && anchor !== undefined) {
      const found = pageOfAnchor(anchor, pages);
      if (found !== undefined) return addressFrom(page.path, found.path);
    }
    if (file === '') return fragment;
    const found = pages.find((other) => other.source === source);
    if (found !== undefined) return addressFrom(page.path, found.path) + fragment;
    if (!/\.(?:png|svg)$/.test(source)) return target;
    files.add(source);
    return addressFrom(page.path, source);
  };

  const { rules } = markdown.renderer;
  rules.link_open = (all, at, options, _env, self) => {
    const link = all[at]!;
    link.attrSet('href', follow(String(link.attrGet('href'))));
    return self.renderToken(all, at, options);
  };
  rules.image = (all, at, _options, env, self) => {
    const image = all[at]!;
    const alt = self.renderInlineAsText(image.children ?? [], markdown.options, env);
    return `<img src="${escapeHtml(follow(String(image.attrGet('src'))))}" alt="${escapeHtml(alt)}">`;
  };
  rules.fence = (all, at) => highlight(all[at]!, linkNames(page, namesFor(page, pages)));
  // tables are wide, and scroll by themselves
  rules.table_open = (all, at) =>
    `<div class="table" tabindex="0" role="region" aria-label="${escapeHtml(String(all[at]!.attrGet('aria-label')))}">\n<table>\n`;
  rules.table_close = () => '</table>\n</div>\n';
  rules.heading_close = (all, at) => {
    const { tag } = all[at]!;
    const anchor = String(all[at - 2]!.attrGet('id'));
    const name = escapeHtml(textOf(all[at - 1]!));
    return tag === 'h1'
      ? `</${tag}>\n`
      : ` <a class="anchor" href="#${escapeHtml(anchor)}" aria-label="Link to “${name}”">#</a></${tag}>\n`;
  };
  const content = markdown.renderer.render(tokens, markdown.options, {});
  return { content, headings: sections.map(({ heading }) => heading), sections, files: [...files] };
}

/** Header cells without a text are no headers; a row of nothing else is none. */
function withoutEmptyHeaders(tokens: readonly Token[]): Token[] {
  const isEmpty = (at: number): boolean => tokens[at]?.type === 'inline' && tokens[at].content === '';
  const kept: Token[] = [];
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at]!;
    if (token.type === 'thead_open') {
      const end = tokens.findIndex(({ type }, index) => index > at && type === 'thead_close');
      const cells = tokens.slice(at, end).filter(({ type }) => type === 'inline');
      if (cells.every(({ content }) => content === '')) {
        at = end;
        continue;
      }
    }
    if ((token.type === 'th_open' && isEmpty(at + 1)) || (token.type === 'th_close' && isEmpty(at - 1)))
      token.tag = 'td';
    kept.push(token);
  }
  return kept;
}

/** Gives each heading the anchor that GitHub gives it, a number behind those that repeat; each table the name of its section. */
function giveAnchors(tokens: readonly Token[]): RenderedPage['sections'] {
  let tables = 0;
  const used = new Map<string, number>();
  const sections: { heading: Heading; text: string }[] = [];
  for (const [at, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const text = textOf(tokens[at + 1]!);
      const plain = anchorOf(text);
      const times = used.get(plain) ?? 0;
      used.set(plain, times + 1);
      const anchor = times === 0 ? plain : `${plain}-${times}`;
      token.attrSet('id', anchor);
      tables = 0;
      sections.push({ heading: { level: Number(token.tag.slice(1)), anchor, text }, text: '' });
    } else if (token.type === 'table_open') {
      tables += 1;
      const name = `Table: ${sections.at(-1)?.heading.text ?? ''}`;
      token.attrSet('aria-label', tables === 1 ? name : `${name} (${tables})`);
    } else if (token.type === 'inline' || token.type === 'fence') {
      const section = sections.at(-1);
      const isHeading = tokens[at - 1]?.type === 'heading_open';
      if (section !== undefined && !isHeading) section.text += `${textOf(token)} `;
    }
  }
  return sections;
}

function textOf({ children, content }: Token): string {
  if (children === null) return content;
  return children
    .map((child) => (child.type === 'softbreak' ? ' ' : child.type === 'html_inline' ? ' ' : child.content))
    .join('');
}

function highlight({ info, content }: Token, transformer: ShikiTransformer): string {
  const [word = ''] = info.split(' ');
  return highlighter.codeToHtml(content.trimEnd(), {
    lang: languages.has(word) ? word : 'text',
    themes: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    defaultColor: 'light-dark()',
    transformers: [transformer],
  });
}

/** In the code of the library, names that are exported are links to their pages. */
function linkNames(page: Page, names: ReadonlyMap<string, string>): ShikiTransformer {
  return {
    pre(node) {
      // the background is the site's own
      delete node.properties['style'];
    },
    span(node) {
      const [child] = node.children;
      const style = node.properties['style'];
      if (typeof style === 'string') {
        delete node.properties['style'];
        node.properties['class'] = classOf(style);
      }
      if (page.source !== librarySource || child?.type !== 'text') return;
      const [, before = '', name = '', after = ''] = /^(\s*)(\w+)(\s*)$/.exec(child.value) ?? [];
      const path = names.get(name);
      if (path === undefined) return;
      const properties = { href: addressFrom(page.path, path) };
      node.children = [
        { type: 'text', value: before },
        { type: 'element', tagName: 'a', properties, children: [{ type: 'text', value: name }] },
        { type: 'text', value: after },
      ];
    },
  };
}
