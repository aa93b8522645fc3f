// What every route is asked with: plain requests with one part of any length. Where a part goes is found out from the route: from
// its schemas, its description, and what its handler reads.
import type { Schema } from '../../src/http/schema.ts';
import {
  fieldValues,
  forms,
  headerValues,
  jsonBodies,
  jsonValues,
  pathEnds,
  type Shape,
} from './hostile-text.ts';

export const jsonType = 'application/json';
export const formType = 'application/x-www-form-urlencoded';
export const textType = 'text/plain';

/** A request that a route answers, which hostile ones differ from in one part. */
export interface PlainRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** One kind of request, in any length. */
export interface Hostile {
  readonly what: string;
  /** @param bytes of the body, or of all headers with the path */
  make(bytes: number): PlainRequest;
}

const shapesOf = Object.entries<Shape>;

/** Stands, in the value of a header field, for what the listener needs there. */
export const needed = '…';

/** Where more may follow what the listener needs. */
const startsOf = (name: string): readonly string[] =>
  name === 'cookie'
    ? ['', `${needed}; `]
    : ['authorization', 'content-type'].includes(name)
      ? ['', needed]
      : [''];

export function hostileHeaders(plain: PlainRequest, names: Iterable<string>): Hostile[] {
  const ofNames = [...names].flatMap((name) =>
    shapesOf(headerValues).flatMap(([shape, textOf]) =>
      startsOf(name).map((start) => ({
        what: `${name}: ${start}${shape}`,
        make: (bytes: number) => ({
          ...plain,
          headers: { ...plain.headers, [name]: start + textOf(bytes) },
        }),
      })),
    ),
  );
  const many = {
    what: 'many headers',
    make: (bytes: number) => {
      const further = Array.from({ length: bytes / 20 }, (_, index) => [`x-${index}`, 'a'.repeat(10)]);
      return { ...plain, headers: { ...plain.headers, ...Object.fromEntries(further) } };
    },
  };
  return [...ofNames, many];
}

export function hostileQueries(plain: PlainRequest, names: Iterable<string>): Hostile[] {
  const separator = plain.path.includes('?') ? '&' : '?';
  return hostileForms(names).map(({ what, text }) => ({
    what: `query: ${what}`,
    make: (bytes) => ({ ...plain, path: plain.path + separator + text(bytes) }),
  }));
}

/** @param url of the route, with its parameters */
export function hostilePaths(plain: PlainRequest, url: string): Hostile[] {
  const parameters = url.match(/:\w+|\*/g) ?? [];
  return parameters.flatMap((parameter) =>
    shapesOf(pathEnds).map(([shape, textOf]) => ({
      what: `${parameter} of the path: ${shape}`,
      make: (bytes) => ({
        ...plain,
        path: url.replace(parameter, () => textOf(bytes)).replaceAll(/:\w+|\*/g, '1'),
      }),
    })),
  );
}

export function hostileFormBodies(plain: PlainRequest, names: Iterable<string>): Hostile[] {
  return hostileForms(names).map(({ what, text }) => ({
    what: `form: ${what}`,
    make: (bytes) => ({ ...plain, body: text(bytes) }),
  }));
}

function hostileForms(names: Iterable<string>): { readonly what: string; readonly text: Shape }[] {
  const ofNames = [...names].flatMap((name) => [
    ...shapesOf(fieldValues).map(([shape, textOf]) => ({
      what: `${name}: ${shape}`,
      text: (bytes: number) => `${name}=${textOf(bytes - name.length - 1)}`,
    })),
    {
      what: `${name} again and again`,
      text: (bytes: number) => `${name}=1&`.repeat(bytes / (name.length + 3)),
    },
  ]);
  return [...shapesOf(forms).map(([what, text]) => ({ what, text })), ...ofNames];
}

export function hostileTextBodies(plain: PlainRequest): Hostile[] {
  return shapesOf(fieldValues).map(([shape, text]) => ({
    what: `text: ${shape}`,
    make: (bytes) => ({ ...plain, body: text(bytes) }),
  }));
}

/** @param schema of the body */
export function hostileJsonBodies(plain: PlainRequest, schema: Schema | undefined): Hostile[] {
  const example = plain.body === undefined ? {} : (JSON.parse(plain.body) as unknown);
  const whole = shapesOf(jsonBodies).map(([what, text]) => ({
    what: `JSON: ${what}`,
    make: (bytes: number) => ({ ...plain, body: text(bytes) }),
  }));
  const places = schema === undefined ? [] : placesOf(schema);
  const members = places.flatMap((place) =>
    shapesOf(jsonValues).map(([shape, textOf]) => ({
      what: `JSON: ${place.join('.')}: ${shape}`,
      make: (bytes: number) => {
        const hole = '"\u{1f573}"';
        const around = JSON.stringify(replaceAt(example, place, hole.slice(1, -1)));
        const text = textOf(bytes - Buffer.byteLength(around));
        return { ...plain, body: around.replace(hole, () => text) };
      },
    })),
  );
  return [...whole, ...members];
}

type Place = readonly (string | number)[];

/** Every member that a schema names, however deep. */
function placesOf(schema: Schema, place: Place = []): readonly Place[] {
  const {
    properties = {},
    items,
    anyOf = [],
  } = schema as {
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly items?: Schema;
    readonly anyOf?: readonly Schema[];
  };
  const inner = [
    ...Object.entries(properties).map(([name, member]) => [[...place, name], member] as const),
    ...(items === undefined ? [] : [[[...place, 0], items] as const]),
  ];
  const places = [
    ...inner.flatMap(([at, member]) => [at, ...placesOf(member, at)]),
    ...anyOf.flatMap((one) => placesOf(one, place)),
  ];
  return [...new Map(places.map((found) => [found.join('.'), found])).values()];
}

/** A copy with another value at a place; objects and arrays on the way are made where there are none. */
function replaceAt(value: unknown, [name, ...rest]: Place, other: unknown): unknown {
  if (name === undefined) return other;
  const isObject = typeof value === 'object' && value !== null;
  if (typeof name === 'number') {
    const [first] = Array.isArray(value) ? (value as unknown[]) : [];
    return [replaceAt(first, rest, other)];
  }
  const owner = isObject && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
  return { ...owner, [name]: replaceAt(owner[name], rest, other) };
}
