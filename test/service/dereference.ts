// A description document with each of its named models where it is used, for tests that take a schema out of it; and what generators of
// clients need of any document.
import assert from 'node:assert/strict';

/** @param document of OpenAPI, with `components` */
export function dereference<Document extends object>(document: Document): Document {
  const { schemas } = (document as unknown as { components: { schemas: Record<string, object> } }).components;
  const expand = (part: unknown): unknown => {
    if (typeof part !== 'object' || part === null) return part;
    if (Array.isArray(part)) return part.map(expand);
    const { $ref } = part as { readonly $ref?: string };
    if ($ref !== undefined) return expand(schemas[$ref.replace('#/components/schemas/', '')]);
    return Object.fromEntries(Object.entries(part).map(([name, member]) => [name, expand(member)]));
  };
  return expand(document) as Document;
}

/** Patterns mean the same with the flag `u` and without it, and use nothing that other languages lack or write in another way. */
export function assertPlainPatterns(document: object): void {
  const patterns: string[] = [];
  JSON.stringify(document, (key, value: unknown) => {
    if (key === 'pattern' && typeof value === 'string') patterns.push(value);
    return value;
  });
  assert.ok(patterns.length > 0);
  for (const pattern of patterns) {
    assert.doesNotThrow(() => [new RegExp(pattern), new RegExp(pattern, 'u')], pattern);
    // classes of Unicode, code points, named groups, lookbehind, flags
    assert.doesNotMatch(pattern, /\\(?:[pPkuc]|x\{)|\(\?(?![:=!])/, pattern);
  }
}

type Part = Readonly<Record<string, unknown>>;

/** Each object with members is a named model, or it gets a name that depends on where it stands. */
export function assertNamedModels(document: { readonly components: { readonly schemas: object } }): void {
  const named = new Set<unknown>(Object.values(document.components.schemas));
  eachPart(document, (part, where) => {
    const hasMembers = part['type'] === 'object' && Object.keys(part['properties'] ?? {}).length > 0;
    assert.ok(!hasMembers || named.has(part), where);
  });
}

/** Beside each format that only we know stands what it means to others, unless it is well-formed Unicode alone. */
export function assertPatternsOfFormats(document: object): void {
  const known = new Set<unknown>(['date', 'date-time', 'uri', 'text', 'data-text']);
  eachPart(document, ({ type, format, pattern }, where) => {
    if (![type].flat().includes('string') || format === undefined) return;
    assert.ok(pattern !== undefined || known.has(format), where);
  });
}

/** But for examples. */
function eachPart(value: unknown, see: (part: Part, where: string) => void, where = ''): void {
  if (typeof value !== 'object' || value === null) return;
  see(value as Part, where);
  for (const [name, member] of Object.entries(value))
    if (!['example', 'examples'].includes(name)) eachPart(member, see, `${where}/${name}`);
}
