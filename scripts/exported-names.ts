// What the package exports, by entry, as it stands in the source: names, comments and declarations. Read as text, since
// TypeScript 7 has no interface for programs yet.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readPackageEntries, root } from './repository.ts';

/** A name that is exported, and where it is declared. */
export interface Declaration {
  readonly name: string;
  readonly file: string;
  /** With its delimiters. */
  readonly comment: string | undefined;
  /** The first line of it. */
  readonly kind: 'function' | 'const' | 'class' | 'interface' | 'type';
  /** Without the bodies of functions. */
  readonly code: string;
}

export interface Entry {
  /** As it is imported, such as `deskbell/service`. */
  readonly specifier: string;
  /** The comment at the start of its file. */
  readonly header: string;
  readonly declarations: readonly Declaration[];
}

/** The entries of package.json that are modules. */
export function readEntries(): readonly Entry[] {
  return Object.entries(readPackageEntries()).flatMap(([path, entry]) => {
    if (typeof entry === 'string') return [];
    const file = join(root, entry.import.types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts'));
    const [header = ''] = /^(?:\/\/.*\n)+/.exec(readFileSync(file, 'utf8')) ?? [];
    return [{ specifier: join('deskbell', path), header, declarations: declarationsOf(file) }];
  });
}

const reexports = /^export (?:type )?\{([^}]*)\} from '([^']+)';/gm;
const declarations = /^export (?:async )?(?:abstract )?(function|const|class|interface|type)\*? (\w+)/gm;

function declarationsOf(file: string): readonly Declaration[] {
  const text = readFileSync(file, 'utf8');
  const passedOn = Array.from(text.matchAll(reexports)).flatMap(([, names, from]) => {
    const there = declarationsOf(resolve(dirname(file), from!));
    return names!
      .split(',')
      .map((name) => name.trim().replace(/^type /, ''))
      .filter((name) => name !== '')
      .map((name) => {
        const [original, exported = original] = name.split(' as ');
        const found = there.find((declaration) => declaration.name === original);
        assert(found, `${file}: ${name} of ${from}`);
        return { ...found, name: exported! };
      });
  });
  const own = Array.from(text.matchAll(declarations), ({ 1: kind, 2: name, index }) => ({
    name: name!,
    file,
    comment: /\/\*\*(?:(?!\*\/)[^])*\*\/\n$/.exec(text.slice(0, index))?.[0],
    kind: kind as Declaration['kind'],
    code: codeFrom(text.slice(index), kind!),
  }));
  // of overloads the first has the comment
  const first = own.filter((one, index) => own.findIndex(({ name }) => name === one.name) === index);
  return [...passedOn, ...first];
}

/** Formatted source ends an interface or a class with a brace that is not indented, and a type with a semicolon. */
function codeFrom(text: string, kind: string): string {
  const lines = text.split('\n');
  const endsAt = lines.findIndex((line, index) => {
    if (kind === 'interface' || kind === 'class') return /^\}|\{\}$/.test(line);
    if (kind === 'type') return line.endsWith(';') && isClosed(lines.slice(0, index + 1).join('\n'));
    return /(?:[{;=]|=>)$/.test(line) && !/^\s*(?:readonly )?\w+\??: \{$/.test(line);
  });
  return lines
    .slice(0, endsAt + 1)
    .join('\n')
    .replace(/^export /, '')
    .replace(/ (?:\{|=>|=)$/, ';');
}

/** True where every bracket that was opened is closed, those in comments apart. */
function isClosed(code: string): boolean {
  const bare = code.replaceAll(/\/\*\*[^]*?\*\/|\/\/.*$/gm, '');
  return (bare.match(/[{([]/g) ?? []).length === (bare.match(/[})\]]/g) ?? []).length;
}
