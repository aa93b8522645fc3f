// A description document with each of its named models where it is used, for tests that take a schema out of it.
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
    assert.doesNotMatch(pattern, /\\[pPkucx]|\(\?(?![:=!])/, pattern);
  }
}
