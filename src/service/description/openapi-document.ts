// The description document: OpenAPI 3.1, made from the annotations and the schemas of the routes themselves.
import type { FastifyInstance, RouteOptions } from 'fastify';
import type { ObjectSchema, Schema } from '../schema.ts';

import { bodyErrors, problemResponses, problemSchema } from './openapi-responses.ts';
import { tags, type Operation } from './operation.ts';

/** Of the description itself; to be raised with every change that a client can see. */
const descriptionVersion = '1.1.0';

const description = `Hands browsers the key to subscribe with and keeps their push subscriptions.

Every path takes requests from any origin, without credentials. HEAD is answered wherever GET is. OPTIONS is a 204
everywhere, with \`allow\` or, to a preflight, with what was asked for. A path that is not described is a 404, a method that
is not described a 405 with \`allow\`. Every error is an RFC 9457 problem with a stable \`code\`.`;

export type SecuritySchemes = Readonly<Record<string, object>>;

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly schemas: object; readonly securitySchemes: SecuritySchemes };
}

/** An Operation Object of OpenAPI 3.1, with the members that are used here. */
export interface OperationObject {
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string | undefined;
  readonly parameters?: readonly ParameterObject[] | undefined;
  readonly requestBody?: { readonly required: true; readonly content: JsonContent } | undefined;
  readonly responses: object;
  readonly security?: Operation['security'];
}

export interface ParameterObject {
  readonly name: string;
  readonly in: 'path' | 'header';
  readonly required: boolean;
  readonly description?: string | undefined;
  readonly schema: object;
}

type JsonContent = Readonly<
  Record<'application/json', { readonly schema: object; readonly example: unknown }>
>;

interface RouteSchema {
  readonly params?: ObjectSchema;
  readonly body?: Schema & { readonly examples?: readonly unknown[] };
}

/** Collects the routes that are added to the scope from here on. Their annotations may still change. */
export function collectRoutes(app: FastifyInstance): readonly RouteOptions[] {
  const routes: RouteOptions[] = [];
  app.addHook('onRoute', (route) => {
    routes.push(route);
  });
  return routes;
}

/** @param prefix what the routes' paths begin with and the document's do not */
export function createOpenApiDocument(
  routes: readonly RouteOptions[],
  prefix: string,
  securitySchemes: SecuritySchemes,
): OpenApiDocument {
  const paths: Record<string, Record<string, OperationObject>> = {};
  const usedTags = new Set<string>();
  for (const { method, url, config, schema } of routes) {
    const operation = config?.operation;
    // HEAD is answered wherever GET is, and said once.
    if (operation === undefined || typeof method !== 'string' || method === 'HEAD') continue;
    usedTags.add(operation.tag);
    const path = (paths[toTemplate(url.slice(prefix.length), config?.lastSegment)] ??= {});
    path[method.toLowerCase()] = toOperationObject(operation, (schema ?? {}) as RouteSchema);
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Deskbell', version: descriptionVersion, description },
    // Relative to the document, so that it holds under any prefix.
    servers: [{ url: '.' }],
    tags: Object.entries(tags)
      .filter(([name]) => usedTags.has(name))
      .map(([name, text]) => ({ name, description: text })),
    paths,
    components: { schemas: { Problem: problemSchema }, securitySchemes },
  };
}

const toTemplate = (path: string, lastSegment: string | undefined): string =>
  lastSegment === undefined ? path : path.replace(/\*$/, `{${lastSegment}}`);

function toOperationObject(
  { tag, summary, description: text, headers = {}, responses, errors = [], security }: Operation,
  { params, body }: RouteSchema,
): OperationObject {
  const parameters = [
    ...Object.entries(params?.properties ?? {}).map(([name, schema]) => toParameter('path', name, schema)),
    ...Object.entries(headers).map(([name, header]) => ({
      ...toParameter('header', name, header.schema),
      description: header.description,
    })),
  ];
  return {
    tags: [tag],
    summary,
    description: text,
    parameters: parameters.length > 0 ? parameters : undefined,
    requestBody: body && {
      required: true,
      content: { 'application/json': { schema: body, example: body.examples?.[0] } },
    },
    responses: { ...responses, ...problemResponses(...errors, ...(body ? bodyErrors : [])) },
    security,
  };
}

function toParameter(place: ParameterObject['in'], name: string, schema: object): ParameterObject {
  return { name, in: place, required: place === 'path', schema };
}
