// The Fastify instance that routes are added to: its schemas tell the types of bodies, parameters and answers.
import type { SchemaTypeProvider } from './schema.ts';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';

export type ServiceApp = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  SchemaTypeProvider
>;
