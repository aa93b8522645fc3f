// The search index: each section of each page, found by its words, in one file that the browser loads when somebody searches.
import MiniSearch from 'minisearch';
import { searchOptions } from './browser/search-options.js';
import type { Page } from './page.ts';
import type { RenderedPage } from './render-markdown.ts';

export interface Section {
  readonly title: string;
  /** The page's title. */
  readonly page: string;
  readonly address: string;
  readonly text: string;
  /** How the text begins, to be shown. */
  readonly start: string;
}

const shownCharacters = 140;

export function describeSections({
  page,
  sections,
}: Pick<RenderedPage, 'sections'> & { readonly page: Page }): readonly Section[] {
  return sections.map(({ heading, text: raw }) => {
    const text = raw.replaceAll(/\s+/g, ' ').trim();
    const address = heading.level === 1 ? page.path : `${page.path}#${heading.anchor}`;
    const cut =
      text.length > shownCharacters ? `${text.slice(0, shownCharacters).replace(/\s\S*$/, '')} …` : text;
    return { title: heading.text, page: page.title, address, text, start: cut };
  });
}

export function makeSearchIndex(sections: readonly Section[]): string {
  const index = new MiniSearch<Section & { readonly id: number }>(searchOptions);
  index.addAll(sections.map((section, id) => ({ ...section, id })));
  return JSON.stringify(index);
}
