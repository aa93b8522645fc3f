// The description document, OpenAPI 3.1, made from the routes' annotations and schemas.
import type { FastifyInstance, RouteOptions } from 'fastify';
import type { ErrorCode } from '../../errors/catalogue.ts';
import type { Formats } from '../../errors/describe-schema.ts';
import { lookUp } from '../../errors/check-options.ts';
import type { AnsweredErrors } from '../problem.ts';
import { modelOf, type ObjectSchema, type Schema } from '../schema.ts';
import { bodyErrors, describeProblems, type Operation } from './operation.ts';

export const license = { name: 'MIT License', identifier: 'MIT' };

export type SecuritySchemes = Readonly<Record<string, object>>;

export interface Description {
  readonly info: OpenApiDocument['info'];
  readonly tags: Readonly<Record<string, string>>;
  readonly securitySchemes: SecuritySchemes;
  readonly errors: AnsweredErrors;
  readonly formats: Formats;
  /** Errors that any request may get, besides the errors of HTTP itself. */
  readonly errorsEverywhere: readonly ErrorCode[];
  /** Header Objects of every response, by name. */
  readonly headersEverywhere: Readonly<Record<string, object>>;
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description: string;
    readonly license: typeof license;
  };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly schemas: object; readonly securitySchemes: SecuritySchemes };
}

/** An Operation Object of OpenAPI 3.1, with the members used here. */
export interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string | undefined;
  readonly parameters?: readonly ParameterObject[] | undefined;
  readonly requestBody?: { readonly required: true; readonly content: Content } | undefined;
  readonly responses: object;
  readonly security?: Operation['security'];
}

export interface ParameterObject {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string | undefined;
  readonly schema: object;
}

type Content = Readonly<Record<string, { readonly schema: object; readonly example: unknown }>>;

type BodySchema = Schema & { readonly examples?: readonly unknown[] };

interface BodyOfTypes {
  readonly content: Readonly<Record<string, { readonly schema: BodySchema }>>;
}

interface RouteSchema {
  readonly params?: ObjectSchema;
  readonly querystring?: ObjectSchema;
  readonly body?: BodySchema | BodyOfTypes;
}

/** Collects the routes added to the scope from now on. Their annotations may still change. */
export function collectRoutes(app: FastifyInstance): readonly RouteOptions[] {
  const routes: RouteOptions[] = [];
  app.addHook('onRoute', (route) => {
    routes.push(route);
  });
  return routes;
}

export function createOpenApiDocument(
  routes: readonly RouteOptions[],
  prefix: string,
  description: Description,
): OpenApiDocument {
  const document = describeRoutes(routes, prefix, description);
  const { value, schemas } = nameModels(document, description.formats);
  return { ...value, components: { ...document.components, schemas } };
}

/** Like `createOpenApiDocument`, but repeats each schema where it is used. */
export function describeRoutes(
  routes: readonly RouteOptions[],
  prefix: string,
  description: Description,
): OpenApiDocument {
  const paths: Record<string, Record<string, OperationObject>> = {};
  const { info, tags, securitySchemes } = description;
  const usedTags = new Set<string>();
  const usedIds = new Set<string>();
  for (const { method, url, config, schema } of routes) {
    const operation = config?.operation;
    if (operation === undefined || typeof method !== 'string' || method === 'HEAD') continue;
    if (lookUp(tags, operation.tag) === undefined)
      throw new Error(`The tag ${operation.tag} is not described.`);
    usedTags.add(operation.tag);
    const { operationId } = operation;
    if (usedIds.has(operationId)) throw new Error(`Two operations are named ${operationId}.`);
    usedIds.add(operationId);
    const path = (paths[toTemplate(url.slice(prefix.length), config?.wildcardParam)] ??= {});
    path[method.toLowerCase()] = toOperationObject(operation, (schema ?? {}) as RouteSchema, description);
  }
  return {
    openapi: '3.1.0',
    info,
    // the URL is relative to the document, so it is right under any prefix
    servers: [{ url: '.' }],
    tags: Object.entries(tags)
      .filter(([name]) => usedTags.has(name))
      .map(([name, text]) => ({ name, description: text })),
    paths,
    components: { schemas: {}, securitySchemes },
  };
}

/** `/v1/things/:id` → `/v1/things/{id}` */
function toTemplate(path: string, wildcardParam: string | undefined): string {
  const whole = wildcardParam === undefined ? path : path.replace(/\*$/, `:${wildcardParam}`);
  return whole.replaceAll(/:(\w+)/g, '{$1}');
}

function toOperationObject(
  {
    operationId,
    tag,
    summary,
    description: text,
    headers = {},
    responses,
    errors = [],
    security = [],
  }: Operation,
  { params, querystring, body }: RouteSchema,
  { errors: answered, errorsEverywhere, headersEverywhere }: Description,
): OperationObject {
  const parameters = [
    ...toParameters('path', params),
    ...toParameters('query', querystring),
    ...Object.entries(headers).map(([name, { schema, description: meaning }]) => {
      return { name, in: 'header' as const, required: false, description: meaning, schema };
    }),
  ];
  const codes = [...errors, ...(body ? bodyErrors : []), ...errorsEverywhere];
  const problems = describeProblems(codes, answered);
  return {
    operationId,
    tags: [tag],
    summary,
    description: text,
    parameters: parameters.length > 0 ? parameters : undefined,
    requestBody: body && { required: true, content: describeBody(body) },
    responses: Object.fromEntries(
      Object.entries({ ...responses, ...problems }).map(([status, response]) => [
        status,
        { ...response, headers: { ...headersEverywhere, ...response.headers } },
      ]),
    ),
    security,
  };
}

function describeBody(body: BodySchema | BodyOfTypes): Content {
  const byType = 'content' in body ? (body as BodyOfTypes).content : { 'application/json': { schema: body } };
  return Object.fromEntries(
    Object.entries(byType).map(([type, { schema }]) => [type, { schema, example: schema.examples?.[0] }]),
  );
}

function toParameters(
  place: 'path' | 'query',
  { properties = {}, required = [] }: Partial<ObjectSchema> & { readonly required?: readonly string[] } = {},
): readonly ParameterObject[] {
  return Object.entries(properties).map(([name, schema]) => {
    return { name, in: place, required: required.includes(name), schema };
  });
}

/** Replaces named schemas by references. @returns also the schemas by name */
function nameModels<Value extends object>(value: Value, formats: Formats) {
  const schemas = new Map<string, object>();

  const replace = (part: unknown): unknown => {
    if (typeof part !== 'object' || part === null) return part;
    if (Array.isArray(part)) return part.map(replace);
    const members = Object.entries(part).map(([name, member]) => [name, replace(member)]);
    const copy = withPattern(Object.fromEntries(members) as Schema, formats);
    const name = modelOf(part);
    if (name === undefined) return copy;
    const known = schemas.get(name) ?? copy;
    if (JSON.stringify(known) !== JSON.stringify(copy)) throw new Error(`Two schemas are named ${name}.`);
    schemas.set(name, known);
    return { $ref: `#/components/schemas/${name}` };
  };

  return {
    value: replace(value) as Value,
    schemas: Object.fromEntries([...schemas].toSorted(([one], [other]) => (one < other ? -1 : 1))),
  };
}

function withPattern(schema: Schema, formats: Formats): Schema {
  const { format, pattern: own } = schema;
  const pattern = typeof format === 'string' && lookUp(formats, format)?.pattern;
  return pattern && own === undefined ? { ...schema, pattern } : schema;
}
