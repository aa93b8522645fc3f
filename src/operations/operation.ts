// What goes out of one kind of thing, the same in the operator's API, in events and webhooks, and with `--json` of a command.
import type { ReadWarnings } from '../delivery/installation-warnings.ts';
import type { Operation as DescribedRoute } from '../http/description/operation.ts';
import { idKeywords, type ObjectValue, type Properties, type Schema, Type } from '../http/schema.ts';
import type { OperatorRole } from '../store/operators.ts';
import type { Store } from '../store/store.ts';

/** How things of one kind are shown. */
export interface View<Thing> {
  /** The form of what `toJson` gives. */
  readonly schema: Schema;
  /** For the description of the API. */
  readonly example: object;
  /** Times are ISO 8601; endpoints and keys are left out. */
  toJson(thing: Thing): object;
}

// What an operator can do, described once. The API and its description, the console's buttons and the commands are made from it,
// so that a change means the same and is audited everywhere.

/** `GET /v1/things` */
export type Route = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;

/** What operations work on. */
export interface OperationContext {
  readonly store: Store;
  readonly readWarnings: ReadWarnings;
  /** Names a person in the audit: a hash under a key of this installation. */
  hashPerson(user: string): string;
}

export interface Described extends Pick<
  DescribedRoute,
  'operationId' | 'summary' | 'description' | 'headers' | 'errors'
> {
  /** Who may ask. Default: with an unsafe method those who may change, else those who may read. */
  readonly roles?: readonly OperatorRole[];
}

type Tagged = Described & Pick<DescribedRoute, 'tag'>;

/** A change as the audit records it. */
export interface Change<Input, Result> {
  /** Such as `broadcast.pause`. */
  readonly action: string;
  /** What is changed, such as `broadcast 7`. */
  target(input: Input, context: Pick<OperationContext, 'hashPerson'>): string;
  /** @param operator who asks */
  run(context: OperationContext, input: Input, operator: string): Promise<Result>;
}

/** A change that the API offers. Its input has the members of path, query and body. */
export interface Operation<Input, Result> extends Tagged, Change<Input, Result> {
  readonly route: Route;
  readonly params?: Properties;
  readonly query?: Properties;
  readonly body?: Schema;
  /** How its result is shown. Default: there is none. */
  readonly answer?: View<Result>;
}

/** Of a path that names one thing by its number. */
export const idParams = { id: Type.Integer(idKeywords) };

type None = Readonly<Record<never, Schema>>;

/** Infers the input of an operation from the schemas of its parts. */
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

/** A list that is short enough to be read whole. */
export interface NamedList<Item> extends Tagged {
  readonly path: `/${string}`;
  /** How each item is shown. */
  readonly view: View<Item>;
  /** Pages of the API come in the order of names. */
  nameOf(item: Item): string;
  read(context: Pick<OperationContext, 'store' | 'readWarnings'>): Promise<readonly Item[]>;
}

const changers: readonly OperatorRole[] = ['full'];
export const readers: readonly OperatorRole[] = [...changers, 'read'];
/** Of routes that send. */
export const senders: readonly OperatorRole[] = [...changers, 'send'];
/** Of routes that show what was sent: those of the role `send` see their own alone. */
export const watchers: readonly OperatorRole[] = [...readers, 'send'];

/** Who may do what names no roles of its own. */
export const defaultRoles = (isSafe: boolean): readonly OperatorRole[] => (isSafe ? readers : changers);
