// Every name that the package exports has a comment, which editors show; those that people meet first have an example.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { suite, test } from 'node:test';

const root = resolve(import.meta.dirname, '../..');

/** Where a name is declared. */
interface Declaration {
  readonly name: string;
  readonly file: string;
  readonly comment: string | undefined;
}

const met = [
  'createSender',
  'openDataDirectory',
  'generateVapidKeys',
  'createServer',
  'createService',
  'createMiddleware',
  'createClient',
  'startPushService',
  'createUserAgent',
  'parseSubscription',
  'encodePayload',
  'sendNotification',
];

function readEntries(): readonly string[] {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  return Object.values(exports).flatMap((entry) =>
    typeof entry === 'string'
      ? []
      : [join(root, entry.types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts'))],
  );
}

const reexports = /^export (?:type )?\{([^}]*)\} from '([^']+)';/gm;
const declarations = /^export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm;

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
  const own = Array.from(text.matchAll(declarations), ({ 1: name, index }) => ({
    name: name!,
    file,
    comment: /\/\*\*(?:(?!\*\/)[^])*\*\/\n$/.exec(text.slice(0, index))?.[0],
  }));
  // of overloads the first has the comment
  const first = own.filter((one, index) => own.findIndex(({ name }) => name === one.name) === index);
  return [...passedOn, ...first];
}

suite('exported names', () => {
  const all = readEntries().flatMap(declarationsOf);

  test('each has a comment', () => {
    assert(all.length > 150, String(all.length));
    const bare = all.filter(({ comment }) => comment === undefined);
    assert.deepEqual(
      bare.map(({ name, file }) => `${name} in ${file.slice(root.length + 1)}`),
      [],
    );
  });

  for (const name of met) {
    test(`${name} has an example`, () => {
      const found = all.find((declaration) => declaration.name === name);
      assert.match(found?.comment ?? '', /@example\n/);
    });
  }
});
