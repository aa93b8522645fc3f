// JSON Schemas that know the TypeScript type of their values. The same schema validates requests, gives handlers
// their types, and appears in the description.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, FastifyTypeProvider, RawServerDefault } from 'fastify';
import { lookUp } from '../errors/check-options.ts';

declare const value: unique symbol;
const optional: unique symbol = Symbol('optional');
const model: unique symbol = Symbol('model');

export interface Schema<Value = unknown> {
  readonly [value]?: Value;
  readonly [keyword: string]: unknown;
}

export interface ObjectSchema<Members extends Properties = Properties> extends Schema<ObjectValue<Members>> {
  readonly properties: Members;
}

export interface OptionalSchema<Value = unknown> extends Schema<Value> {
  readonly [optional]: true;
}

export type Properties = Readonly<Record<string, Schema>>;

export type ValueOf<Described extends Schema> = Described extends Schema<infer Value> ? Value : never;

type OptionalNames<Members extends Properties> = {
  [Name in keyof Members]: Members[Name] extends OptionalSchema ? Name : never;
}[keyof Members];

export type ObjectValue<Members extends Properties> = {
  readonly [Name in Exclude<keyof Members, OptionalNames<Members>>]: ValueOf<Members[Name]>;
} & { readonly [Name in OptionalNames<Members>]?: ValueOf<Members[Name]> };

/** Gives Fastify's handlers the types of bodies and parameters. */
export interface SchemaTypeProvider extends FastifyTypeProvider {
  readonly validator: this['schema'] extends Schema ? ValueOf<this['schema']> : unknown;
}

/** Limits the id of a stored row, or a cursor in a list, to safe integers. */
export const idKeywords = { minimum: 1, maximum: Number.MAX_SAFE_INTEGER } as const;

export const modelOf = (schema: object): string | undefined => (schema as { [model]?: string })[model];

type Keywords = Readonly<Record<string, unknown>>;

export const Type = {
  String: (keywords: Keywords = {}): Schema<string> => ({ type: 'string', ...keywords }),
  Integer: (keywords: Keywords = {}): Schema<number> => ({ type: 'integer', ...keywords }),
  Boolean: (keywords: Keywords = {}): Schema<boolean> => ({ type: 'boolean', ...keywords }),

  /** A time in ISO 8601 format with a time zone. */
  Time: (description?: string): Schema<string> =>
    Type.String({ format: 'date-time', ...(description !== undefined && { description }) }),

  Enum: <const Value extends string>(values: readonly Value[], keywords: Keywords = {}): Schema<Value> => ({
    type: 'string',
    enum: values,
    ...keywords,
  }),

  /** An `enum`, since client generators mistake `const` for a default. */
  Literal: <const Value extends string>(literal: Value): Schema<Value> => Type.Enum([literal]),

  Never: (): Schema<never> => ({ not: {} }),

  Array: <Item extends Schema>(items: Item, keywords: Keywords = {}): Schema<readonly ValueOf<Item>[]> => ({
    type: 'array',
    items,
    ...keywords,
  }),

  /** Members are required unless they are `Optional`; unknown members are ignored. */
  Object: <Members extends Properties>(
    properties: Members,
    keywords: Keywords = {},
  ): ObjectSchema<Members> => {
    const required = Object.keys(properties).filter((name) => !(optional in lookUp(properties, name)!));
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...keywords };
  },

  AnyObject: (keywords: Keywords = {}): Schema<Readonly<Record<string, unknown>>> => ({
    type: 'object',
    additionalProperties: true,
    ...keywords,
  }),

  Optional: <Value>(schema: Schema<Value>): OptionalSchema<Value> => ({ ...schema, [optional]: true }),

  Union: <Member extends Schema>(
    members: readonly Member[],
    keywords: Keywords = {},
  ): Schema<ValueOf<Member>> => ({
    anyOf: members,
    ...keywords,
  }),

  /**
   * Names a schema, so that the OpenAPI document contains it only once. The TypeScript type may be given explicitly.
   */
  Model: <Value>(name: string, schema: Schema<Value> | Keywords): Schema<Value> => ({
    ...schema,
    [model]: name,
  }),

  /** An object schema that has a name in the OpenAPI document. */
  Named: <Members extends Properties>(
    name: string,
    properties: Members,
    keywords: Keywords = {},
  ): ObjectSchema<Members> => ({ ...Type.Object(properties, keywords), [model]: name }),

  /** A schema with an explicit TypeScript type for its values. */
  Unsafe: <Value>(schema: Keywords): Schema<Value> => schema,
};

/** Schemas of members that may be absent. */
export const Optional = {
  String: (keywords?: Keywords) => Type.Optional(Type.String(keywords)),
  Integer: (keywords?: Keywords) => Type.Optional(Type.Integer(keywords)),
  Boolean: (keywords?: Keywords) => Type.Optional(Type.Boolean(keywords)),
  Time: (description?: string) => Type.Optional(Type.Time(description)),
  Array: <Item extends Schema>(items: Item, keywords?: Keywords) =>
    Type.Optional(Type.Array(items, keywords)),
  Named: <Members extends Properties>(name: string, properties: Members, keywords?: Keywords) =>
    Type.Optional(Type.Named(name, properties, keywords)),
  Unsafe: <Value>(schema: Keywords) => Type.Optional(Type.Unsafe<Value>(schema)),
};

/** The Fastify instance for routes, with types from their schemas. */
export type ServiceApp = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  SchemaTypeProvider
>;
