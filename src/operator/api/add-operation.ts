// An operation of the API, described once: its route, its checks, its audit record and its part of the description follow.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { contentResponse, emptyResponse } from '../../http/description/openapi-responses.ts';
import type { Operation } from '../../http/description/operation.ts';
import { sendJson } from '../../http/json-text.ts';
import { Type, type ObjectValue, type Properties, type Schema } from '../../http/schema.ts';
import type { ServiceApp } from '../../http/service-app.ts';
import type { View } from '../../views/view.ts';
import type { AuditedAction } from '../audit-changes.ts';
import { cutPage, defaultLimit, namedPageQuery, pageOf, pageQuery, type Page } from './page.ts';

/** `GET /v1/things` */
type Route = `${'GET' | 'POST' | 'PATCH' | 'DELETE'} /${string}`;

type Request<Params extends Properties, Query extends Properties, Body> = FastifyRequest & {
  readonly params: ObjectValue<Params>;
  readonly query: ObjectValue<Query>;
  readonly body: Body;
};

interface Described<Params extends Properties, Query extends Properties> extends Pick<
  Operation,
  'tag' | 'summary' | 'description' | 'headers' | 'errors'
> {
  readonly params?: Params;
  readonly query?: Query;
}

interface ApiOperation<Params extends Properties, Query extends Properties, Body> extends Described<
  Params,
  Query
> {
  readonly body?: Schema<Body>;
  readonly bodyLimit?: number;
  /** What is answered as JSON. Default: nothing, with status 204. */
  readonly answer?: Pick<View<never>, 'schema' | 'example'>;
  /** Of a success, the usual one first. Default: 200. */
  readonly statuses?: readonly number[];
  /** What an unsafe method changes, and to what, where that is known beforehand. */
  readonly audit?: {
    readonly action: string;
    target?(request: Request<Params, Query, Body>): string;
  };
}

/** Of a path that names one thing by its number. */
export const idParams = { id: Type.Integer({ minimum: 1 }) };

/** @param handle gives what is answered */
export function addOperation<Params extends Properties, Query extends Properties, Body>(
  app: ServiceApp,
  route: Route,
  operation: ApiOperation<Params, Query, Body>,
  handle: (request: Request<Params, Query, Body>, reply: FastifyReply) => Promise<unknown>,
): void {
  const { params, query, body, bodyLimit, answer, statuses = [200], audit, ...described } = operation;
  const [method, url] = route.split(' ') as [string, string];
  const success =
    answer && contentResponse('application/json', `${described.summary}.`, answer.schema, answer.example);
  app.route({
    method,
    url,
    ...(bodyLimit !== undefined && { bodyLimit }),
    schema: {
      ...(params && { params: Type.Object(params) }),
      ...(query && { querystring: Type.Object(query, { additionalProperties: false }) }),
      ...(body && { body }),
    },
    config: {
      operation: {
        ...described,
        responses: success
          ? Object.fromEntries(statuses.map((status) => [status, success]))
          : { 204: emptyResponse('Done.') },
        security: [{ token: [] }],
      },
      audit: audit as AuditedAction | undefined,
    },
    handler: async (request, reply) => {
      reply.code(success ? statuses[0]! : 204);
      const value = await handle(request as Request<Params, Query, Body>, reply);
      return success ? sendJson(reply, value) : reply.send();
    },
  });
}

interface ListOperation<Item, Params extends Properties, Query extends Properties> extends Described<
  Params,
  Query
> {
  /** How each item is shown. */
  readonly view: View<Item>;
}

/** A list that is read page by page, in the order of ids. */
export function addList<Item, Params extends Properties, Query extends Properties>(
  app: ServiceApp,
  path: `/${string}`,
  { view, query, ...operation }: ListOperation<Item, Params, Query>,
  read: (
    request: Request<Params, Query, unknown>,
    range: { readonly limit: number; readonly cursor: number | undefined },
  ) => Promise<Page<Item>>,
): void {
  addOperation(
    app,
    `GET ${path}`,
    { ...operation, query: { ...pageQuery, ...query }, answer: pageOf(view) },
    async (request) => {
      const { limit = defaultLimit, cursor } = request.query;
      const { items, next } = await read(request as unknown as Request<Params, Query, unknown>, {
        limit,
        cursor,
      });
      return { items: items.map(view.toJson), next };
    },
  );
}

/** A list that is short enough to be read whole, in the order of names. */
export function addNamedList<Item>(
  app: ServiceApp,
  path: `/${string}`,
  { view, ...operation }: ListOperation<Item, Properties, Properties>,
  nameOf: (item: Item) => string,
  read: () => Promise<readonly Item[]>,
): void {
  addOperation(
    app,
    `GET ${path}`,
    { ...operation, query: namedPageQuery, answer: pageOf(view, 'string') },
    async ({ query }) => {
      const { items, next } = cutPage(await read(), nameOf, query);
      return { items: items.map(view.toJson), next };
    },
  );
}
