// What goes out of one kind of thing, the same in the operator's API, in events and webhooks, and with `--json` of a command.
import type { Schema } from '../http/schema.ts';

/** How things of one kind are shown. */
export interface View<Thing> {
  /** The form of what `toJson` gives. */
  readonly schema: Schema;
  /** For the description of the API. */
  readonly example: object;
  /** Times are ISO 8601; endpoints and keys are left out. */
  toJson(thing: Thing): object;
}
