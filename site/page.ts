// A page of the site before VitePress renders it, and groups of links to pages.
export interface Page {
  /** In the site, such as `library/deskbell/createSender.md`. */
  readonly path: string;
  /** The file of the repository that it is made from; its links are relative to it. */
  readonly source: string;
  readonly title: string;
  readonly markdown: string;
}

export interface NavigationGroup {
  readonly text: string;
  readonly collapsed?: boolean;
  readonly items: readonly { readonly text: string; readonly link: string }[];
}

/** The address of a page, with which links name it. */
export function addressOf({ path }: Pick<Page, 'path'>): string {
  return `/${path.replace(/\.md$/, '')}`;
}
