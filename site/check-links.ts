// Every link and every file that a page names is in the site, and nothing is loaded from another host.
import { posix } from 'node:path';

/**
 * @param files the site: paths and, of pages, their HTML
 * @returns what is wrong, in sentences
 */
export function findLinkFaults(files: ReadonlyMap<string, string | Uint8Array>): readonly string[] {
  const anchors = new Map(
    [...files].map(([path, content]) => [path, new Set(valuesOf(String(content), /\sid="([^"]+)"/g))]),
  );
  return [...files]
    .filter(([path]) => path.endsWith('.html'))
    .flatMap(([path, content]) => {
      const html = String(content);
      const loaded = valuesOf(
        html,
        /<(?:link|script|img|iframe|source|video|audio)\b[^>]*\s(?:href|src|srcset)="([^"]*)"/g,
      );
      const foreign = loaded.filter((address) => /^(?:[a-z]+:|\/)/.test(address));
      const links = valuesOf(html, /\s(?:href|src)="([^"]*)"/g).filter(
        (address) => !/^[a-z]+:/.test(address),
      );
      const dead = [...new Set(links)].filter((address) => {
        const [file = '', anchor = ''] = address.split('#');
        const target = file === '' ? path : posix.join(posix.dirname(path), file);
        return !files.has(target) || (anchor !== '' && anchors.get(target)?.has(anchor) !== true);
      });
      return [
        ...foreign.map((address) => `${path} loads ${address}: nothing may come from another host.`),
        ...dead.map((address) => `${path} links to ${address}, which is not there.`),
      ];
    });
}

function valuesOf(html: string, pattern: RegExp): readonly string[] {
  return Array.from(html.matchAll(pattern), ([, value = '']) => value.replaceAll('&amp;', '&'));
}
