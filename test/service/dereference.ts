// A description document with each of its named models where it is used, for tests that take a schema out of it.

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
