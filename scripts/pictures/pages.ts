// Which pages docs/images shows, and what each was when its picture was taken: a hash of its HTML and its style sheets, without
// what differs from one moment to the next. docs/images/pictures.json keeps them; a test compares.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../repository.ts';
import { shownUser } from './shown-store.ts';

export interface ShownPage {
  /** The picture is `console-<name>.png`. */
  readonly name: string;
  readonly path: string;
  readonly scheme: 'light' | 'dark';
}

export const folder = join(root, 'docs/images');
export const hashesFile = join(folder, 'pictures.json');

export const shownPages = ({ running, recent }: { readonly running: number; readonly recent: number }) =>
  [
    { name: 'overview', path: '/console/', scheme: 'light' },
    { name: 'broadcast', path: `/console/broadcasts/${running}`, scheme: 'dark' },
    { name: 'send', path: `/console/send?from=${recent}`, scheme: 'light' },
    { name: 'push-services', path: '/console/push-services', scheme: 'light' },
    { name: 'schedules', path: '/console/schedules', scheme: 'light' },
    { name: 'person', path: `/console/people?user=${shownUser}`, scheme: 'dark' },
    { name: 'channels', path: '/console/channels', scheme: 'light' },
    { name: 'audit', path: '/console/audit', scheme: 'light' },
  ] as const satisfies readonly ShownPage[];

const demo = join(root, 'src/client/demo');

/** The page behind the notification, which has no server to ask. */
export const hashOfDemoPage = (): string =>
  hash(
    ['index.html', 'demo.css', '../base.css', 'icon.svg'].map((file) =>
      readFileSync(join(demo, file), 'utf8'),
    ),
  );

/** @param load gets a file of the console by its path */
export async function hashOfPage(path: string, load: (path: string) => Promise<string>): Promise<string> {
  const html = await load(path);
  const styles = Array.from(html.matchAll(/<link rel="stylesheet" href="([^"]+)"/g), ([, href]) => href!);
  return hash([lasting(html), ...(await Promise.all(styles.map(load)))]);
}

/** What a page is made of: without numbers, times and tokens. */
function lasting(html: string): string {
  return html
    .replaceAll(/<time\b[^>]*>.*?<\/time>/gs, '<time>')
    .replaceAll(/="[\w+/=-]{20,}"/g, '')
    .replaceAll(/<svg\b.*?<\/svg>/gs, '<svg>')
    .replaceAll(/<tr data-bar.*?<\/tr>/gs, '')
    .replaceAll(
      /\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*\b/g,
      '',
    )
    .replaceAll(/\d[\d.,:KM %]*/g, '0')
    .replaceAll(/\s+/g, ' ');
}

function hash(parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('base64url').slice(0, 16);
}
