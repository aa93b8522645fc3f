// Everything that operators can do is described once, as an operation. The API, its description, console buttons and
// commands are made from operations, so a change has the same effect and audit record everywhere. The JSON form of an
// object is described once too, as a view for the API, events, webhooks and `--json`.
import type { ReadWarnings } from '../delivery/alarms/installation-warnings.ts';
import type { Operation as DescribedRoute } from '../http/description/operation.ts';
import { idKeywords, type ObjectValue, type Properties, type Schema, Type } from '../http/schema.ts';
import type { OperatorRole } from '../store/operators.ts';
import type { Store } from '../store/store.ts';

/** The JSON form of one kind of object. */
export interface View<Thing> {
  /** Describes what `toJson` returns. */
  readonly schema: Schema;
  /** Formats times as ISO 8601, and leaves out endpoints and keys. */
  toJson(thing: Thing): object;
}

/** `GET /v1/things` */
export type Route = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;

/** The store and the functions that operations use. */
export interface OperationContext {
  readonly store: Store;
  readonly readWarnings: ReadWarnings;
  /** Identifies a person in the audit by a hash with a key of this installation. */
  hashPerson(user: string): string;
}

export interface Described extends Pick<
  DescribedRoute,
  'operationId' | 'summary' | 'description' | 'headers' | 'errors'
> {
  /** The permitted roles. Default: roles that may read or, for an unsafe method, roles that may make changes. */
  readonly roles?: readonly OperatorRole[];
}

type Tagged = Described & Pick<DescribedRoute, 'tag'>;

/** A change as the audit records it. */
export interface Change<Input, Result> {
  /** The name of the action, such as `broadcast.pause`. */
  readonly action: string;
  /** Names the object that is changed, such as `broadcast 7`. */
  target(input: Input, context: Pick<OperationContext, 'hashPerson'>): string;
  /** @param operator the operator who makes the change */
  run(context: OperationContext, input: Input, operator: string): Promise<Result>;
}

/** A change that the API offers. Its input has the members of path, query and body together. */
export interface Operation<Input, Result> extends Tagged, Change<Input, Result> {
  readonly route: Route;
  readonly params?: Properties;
  readonly query?: Properties;
  readonly body?: Schema;
  /** The view of the result; absent if there is none. */
  readonly answer?: View<Result>;
}

/** Path parameters that identify one object by its id. */
export const idParams = { id: Type.Integer(idKeywords) };

type None = Readonly<Record<never, Schema>>;

/** Types an operation: its input type follows from the schemas of path, query and body. */
export const operation = <
  Result,
  Params extends Properties = None,
  Query extends Properties = None,
  Body = object,
>(
  described: Operation<ObjectValue<Params> & ObjectValue<Query> & Body, Result> & {
    readonly params?: Params;
    readonly query?: Query;
    readonly body?: Schema<Body>;
  },
): Operation<ObjectValue<Params> & ObjectValue<Query> & Body, Result> => described;

/** A list that is so short that it is always read as a whole. */
export interface NamedList<Item> extends Tagged {
  readonly path: `/${string}`;
  readonly view: View<Item>;
  /** The API sorts pages by this name. */
  nameOf(item: Item): string;
  readonly isDescending?: boolean | undefined;
  read(context: Pick<OperationContext, 'store' | 'readWarnings'>): Promise<readonly Item[]>;
}

const changers: readonly OperatorRole[] = ['full'];
export const readers: readonly OperatorRole[] = [...changers, 'read'];
export const senders: readonly OperatorRole[] = [...changers, 'send'];
/** Roles that may see broadcasts. Operators with the role `send` see only their own broadcasts. */
export const watchers: readonly OperatorRole[] = [...readers, 'send'];

export const defaultRoles = (isSafe: boolean): readonly OperatorRole[] => (isSafe ? readers : changers);
