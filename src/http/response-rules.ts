// Rules for every response of a listener, including those without a route.
import type { IncomingMessage } from 'node:http';

import type { ErrorCode, ServiceErrorEntry } from '../errors/catalogue.ts';
import type { Filter } from './filter.ts';

/** The errors that a listener answers with, and their statuses. Others are answered as ERR_INTERNAL. */
export type AnsweredErrors = Readonly<Partial<Record<ErrorCode, ServiceErrorEntry>>> & {
  readonly ERR_INTERNAL: ServiceErrorEntry;
};

export interface ResponseRules {
  readonly errors: AnsweredErrors;
  /** Header fields of every response, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly filters: readonly Filter[];
  /** Further header fields of a preflight's 204; `undefined` for any other request. */
  preflightHeaders(request: IncomingMessage): Readonly<Record<string, string>> | undefined;
}
