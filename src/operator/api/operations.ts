// Adds operations to the API: routes with their checks, audit records and descriptions. Lists come in pages. A request
// has `?limit=` and `?cursor=`. A response has `items`, and `next` with the cursor of the next page.
import type { FastifyReply, FastifyRequest, preValidationHookHandler } from 'fastify';
import { maxKeyCharacters } from '../../delivery/broadcast/create-broadcast.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { contentResponse } from '../../http/description/operation.ts';
import { sendJson } from '../../http/json-body.ts';
import {
  idKeywords,
  modelOf,
  type ObjectValue,
  Optional,
  type Properties,
  type Schema,
  type ServiceApp,
  Type,
} from '../../http/schema.ts';
import type { Described, NamedList, Operation, Route, View } from '../../operations/operation.ts';
import type { AuditedAction } from '../audit-changes.ts';
import type { OperatorContext } from '../context.ts';
import type { ListPage } from '../searches.ts';
import { exampleOf } from './examples.ts';

const defaultLimit = 50;
const maxLimit = 500;

/** Query parameters of every list. A cursor is opaque to clients. */
const pageQuery = {
  limit: Optional.Integer({
    minimum: 1,
    maximum: maxLimit,
    default: defaultLimit,
    description: 'The maximum number of items on a page.',
  }),
  cursor: Optional.Integer({
    ...idKeywords,
    minimum: 0,
    description: 'The `next` of the previous page; absent for the first page.',
  }),
};

const pageOf = (schema: Schema, cursorType: 'integer' | 'string' = 'integer'): Schema =>
  Type.Named(`${modelOf(schema)}Page`, {
    items: Type.Array(schema),
    next: Type.Unsafe({
      type: [cursorType, 'null'],
      description: 'The cursor of the next page; null after the last one.',
    }),
  });

const namedPageQuery = {
  limit: pageQuery.limit,
  cursor: Optional.String({ description: 'The `next` of the previous page; absent for the first page.' }),
};

function cutPage<Item>(
  items: readonly Item[],
  { nameOf, isDescending = false }: Pick<NamedList<Item>, 'nameOf' | 'isDescending'>,
  { limit = defaultLimit, cursor }: { readonly limit?: number; readonly cursor?: string },
): { readonly items: readonly Item[]; readonly next: string | undefined } {
  const isAfter = (one: string, other: string) => (isDescending ? one < other : one > other);
  const rest = items
    .filter((item) => cursor === undefined || isAfter(nameOf(item), cursor))
    .toSorted((one, other) => (isAfter(nameOf(one), nameOf(other)) ? 1 : -1));
  const page = rest.slice(0, limit);
  return { items: page, next: rest.length > limit ? nameOf(page.at(-1)!) : undefined };
}

type Request<Params extends Properties, Query extends Properties, Body> = FastifyRequest & {
  readonly params: ObjectValue<Params>;
  readonly query: ObjectValue<Query>;
  readonly body: Body;
};

interface Asked<Params extends Properties, Query extends Properties> extends Described {
  readonly params?: Params;
  readonly query?: Query;
}

interface ApiOperation<Params extends Properties, Query extends Properties, Body> extends Asked<
  Params,
  Query
> {
  readonly body?: Schema<Body>;
  /** Accepts plain text too, in a scope with `readTextBodies`; the body is then a string. */
  readonly textBody?: Schema<string>;
  readonly bodyLimit?: number;
  /** The JSON response. Default: none, with status 204. */
  readonly answer?: Schema;
  /** The status codes of success, with the usual code first. Default: 200. */
  readonly statuses?: readonly number[];
  /** The audited action of an unsafe method, and its target if that is known before the request is handled. */
  readonly audit?: {
    readonly action: string;
    target?(request: Request<Params, Query, Body>): string;
  };
  handle(request: Request<Params, Query, Body>, reply: FastifyReply): Promise<unknown>;
}

interface List<Item, Params extends Properties, Query extends Properties> extends Asked<Params, Query> {
  readonly view: View<Item>;
  /** Reads a page in order of ids. */
  read(
    request: Request<Params, Query, unknown>,
    range: { readonly limit: number; readonly cursor: number | undefined },
  ): Promise<ListPage<Item>>;
}

/** Describes the header with which a request can be repeated safely. */
export const idempotencyKeyOf = (description: string) => ({
  'Idempotency-Key': { description, schema: { type: 'string', minLength: 1, maxLength: maxKeyCharacters } },
});

/** Refuses a request without a body. The schema does not do this if the body may be text. */
const requireBody: preValidationHookHandler = (request, _reply, done) =>
  done(
    request.body === undefined
      ? new DeskbellError('ERR_REQUEST_INVALID', 'The body is missing; give it as JSON, or as text/plain.')
      : undefined,
  );

const byType = (json: Schema, text: Schema) => ({
  content: { 'application/json': { schema: json }, 'text/plain': { schema: text } },
});

/**
 * Adds a route to the API: `addRoute(app, 'Sending', 'GET /v1/things/:id', …)`
 *
 * @param tag group of the operation in the description
 */
export function addRoute<Params extends Properties, Query extends Properties, Body>(
  app: ServiceApp,
  tag: string,
  route: Route,
  operation: ApiOperation<Params, Query, Body>,
): void {
  const {
    params,
    query,
    roles,
    body,
    textBody,
    bodyLimit,
    answer,
    statuses = [200],
    audit,
    handle,
    ...described
  } = operation;
  const [method, url] = route.split(' ') as [string, string];
  const success =
    answer && contentResponse('application/json', `${described.summary}.`, answer, exampleOf(answer));
  app.route({
    method,
    url,
    ...(bodyLimit !== undefined && { bodyLimit }),
    ...(textBody && { preValidation: requireBody }),
    schema: {
      ...(params && { params: Type.Object(params) }),
      ...(query && { querystring: Type.Object(query, { additionalProperties: false }) }),
      ...(body && { body: textBody ? byType(body, textBody) : body }),
    },
    config: {
      operation: {
        tag,
        ...described,
        responses: success
          ? Object.fromEntries(statuses.map((status) => [status, success]))
          : { 204: { description: 'Done.' } },
        security: [{ token: [] }],
      },
      roles,
      audit: audit as AuditedAction | undefined,
    },
    handler: async (request, reply) => {
      reply.code(success ? statuses[0]! : 204);
      const value = await handle(request as Parameters<typeof handle>[0], reply);
      return success ? sendJson(reply, value) : reply.send();
    },
  });
}

export function addList<Item, Params extends Properties, Query extends Properties>(
  app: ServiceApp,
  tag: string,
  path: `/${string}`,
  { view, query, read, ...list }: List<Item, Params, Query>,
): void {
  addRoute(app, tag, `GET ${path}`, {
    ...list,
    query: { ...pageQuery, ...query },
    answer: pageOf(view.schema),
    handle: async (request) => {
      const { limit = defaultLimit, cursor } = request.query;
      const page = await read(request as unknown as Parameters<typeof read>[0], { limit, cursor });
      return toAnswer(page, view);
    },
  });
}

/** An operation of any type; its input is checked at run time against the operation's own schemas. */
type AnyOperation = Operation<never, unknown>;

export function addOperations(
  app: ServiceApp,
  parts: OperatorContext,
  described: readonly (AnyOperation | NamedList<unknown>)[],
): void {
  for (const each of described) {
    if ('path' in each) {
      const { tag, path, view, nameOf, isDescending, read, ...list } = each;
      addRoute(app, tag, `GET ${path}`, {
        ...list,
        query: namedPageQuery,
        answer: pageOf(view.schema, 'string'),
        handle: async ({ query }) =>
          toAnswer(cutPage(await read(parts), { nameOf, isDescending }, query), view),
      });
      continue;
    }
    const { tag, route, action, target, run, answer, ...operation } = each;
    addRoute(app, tag, route, {
      ...operation,
      ...(answer && { answer: answer.schema }),
      audit: { action, target: (request) => target(inputOf(request), parts) },
      handle: async (request) => {
        const result = await run(parts, inputOf(request), request.operator?.name ?? '');
        return answer?.toJson(result);
      },
    });
  }
}

const inputOf = ({ params, query, body }: Pick<FastifyRequest, 'params' | 'query' | 'body'>): never =>
  Object.assign({}, body, query, params) as never;

const toAnswer = <Item>(
  { items, next = null }: { readonly items: readonly Item[]; readonly next?: unknown },
  view: View<Item>,
): object => ({ items: items.map(view.toJson), next });
