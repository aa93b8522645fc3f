// What holds for every response of a listener, also for those that are written without a route.
import type { IncomingMessage } from 'node:http';

import type { ErrorCode } from '../errors/catalogue/catalogue.ts';
import type { ServiceErrorEntry } from '../errors/catalogue/catalogue-entry.ts';
import type { Filter } from './filter.ts';

/** The errors that a listener answers with, each with its status. Any other one is answered as ERR_INTERNAL. */
export type AnsweredErrors = Readonly<Partial<Record<ErrorCode, ServiceErrorEntry>>> & {
  readonly ERR_INTERNAL: ServiceErrorEntry;
};

export interface ResponseRules {
  readonly errors: AnsweredErrors;
  /** Header fields of every response, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The enabled filters. */
  readonly filters: readonly Filter[];
  /** Further header fields of the 204 to a preflight; `undefined` for any other request. */
  preflightHeaders(request: IncomingMessage): Readonly<Record<string, string>> | undefined;
}
