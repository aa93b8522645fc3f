// What the description says of an operation of the API.
import type { ErrorCode } from '../../errors/catalogue.ts';
import { contentResponse } from '../../http/description/openapi-responses.ts';
import type { Operation } from '../../http/description/operation.ts';
import type { Schema } from '../../http/schema.ts';

export interface Described extends Pick<Operation, 'tag' | 'summary'> {
  readonly description?: string;
  readonly headers?: Operation['headers'];
  /** Of a success. Default: 200. */
  readonly status?: number;
  readonly schema: Schema;
  readonly example: unknown;
  readonly errors?: readonly ErrorCode[];
}

export function describeOperation({ status = 200, schema, example, ...operation }: Described): Operation {
  return {
    ...operation,
    responses: { [status]: contentResponse('application/json', `${operation.summary}.`, schema, example) },
    security: [{ token: [] }],
  };
}
