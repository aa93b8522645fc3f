// Which files of this repository each of its files names: by imports, and by paths that it starts or reads, such as
// `new URL('./thread.ts', import.meta.url)`. Every quoted text that leads to a file counts, from the folder of the file
// that names it or from the top; imports of types do not, since nothing of them is there when a test runs.
import { posix } from 'node:path';

/** The files of the repository, and what stands in those that are code. */
export interface Tree {
  readonly files: ReadonlySet<string>;
  readonly texts: ReadonlyMap<string, string>;
}

/** @returns for each file those that name it, or a folder that it is in */
export function findReferrers({ files, texts }: Tree): ReadonlyMap<string, ReadonlySet<string>> {
  const byName = groupByName(files);
  const referrers = new Map<string, Set<string>>();
  for (const [from, text] of texts) {
    for (const name of namesIn(from, text)) {
      for (const to of byName.get(name) ?? []) {
        if (!referrers.has(to)) referrers.set(to, new Set());
        referrers.get(to)!.add(from);
      }
    }
  }
  return referrers;
}

/** By what each file can be named: its path, that without its ending, and each folder that it is in. */
function groupByName(files: ReadonlySet<string>): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const file of files) {
    const names = [file, `${file.replace(/\.\w+$/, '')}$`];
    for (let folder = posix.dirname(file); folder !== '.'; folder = posix.dirname(folder)) names.push(folder);
    for (const name of names) {
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name)!.push(file);
    }
  }
  return groups;
}

function namesIn(from: string, text: string): ReadonlySet<string> {
  const names = new Set<string>();
  const withoutTypes = text.replaceAll(/^(?:import|export) type [^;]*;$/gm, '');
  // the ending may be computed: `./thread${ending}`
  for (const [, quoted = '', computed = ''] of withoutTypes.matchAll(/['"`]([\w./-]+)(?:['"`]|(\$)\{)/g)) {
    // a word in quotes is no folder, as a rule
    if (!/[./]/.test(quoted) && !['docs', 'examples', 'src'].includes(quoted)) continue;
    for (const path of [posix.join(posix.dirname(from), quoted), posix.normalize(quoted)]) {
      names.add(path.endsWith('/') ? path.slice(0, -1) : path + computed);
    }
  }
  return names;
}
