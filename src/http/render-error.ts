import type { DeskbellError } from '../errors/deskbell-error.ts';
import { opaqueValue } from './sealed-value.ts';
import type { RequestHead } from './filter.ts';
import { problemType, toProblem } from './problem.ts';
import type { ResponseRules } from './response-rules.ts';

export interface RenderedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface Rejection {
  readonly fault: DeskbellError;
  /** Value of the `allow` header. */
  readonly allow?: string;
}

export function renderError(
  head: RequestHead,
  { fault, allow }: Rejection,
  rules: ResponseRules,
): RenderedResponse {
  const problem = toProblem(fault, rules.errors);
  const headers = { 'content-type': problemType, ...(allow !== undefined && { allow }) };
  return render(head, problem.status, headers, Buffer.from(JSON.stringify(problem)), rules);
}

/** Renders a response that no route answers, with the enabled filters and the header fields of every response. */
export function render(
  head: RequestHead,
  status: number,
  ownHeaders: Readonly<Record<string, string>>,
  body: Buffer,
  rules: ResponseRules,
): RenderedResponse {
  const headers: Record<string, string> = { ...rules.headers, ...ownHeaders };
  const setHeader = (name: string, value: string): void => {
    headers[name] = value;
  };
  const response = { status, entity: opaqueValue, isAborted: false, setHeader };
  for (const filter of rules.filters) filter(head)(response);
  return { status, headers, body };
}
