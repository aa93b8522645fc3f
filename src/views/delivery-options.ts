// How a message is to be delivered, as schemas.
import { Type } from '../http/schema.ts';
import { urgencies, type Urgency } from '../protocol/request.ts';

/** How a message is to be delivered. */
export const pushOptionSchemas = {
  ttlSeconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2 ** 31 - 1,
      description: 'How long push services keep the message for a browser that is away. Default: four weeks.',
    }),
  ),
  urgency: Type.Optional(
    Type.Unsafe<Urgency>({ type: 'string', enum: urgencies, description: 'Default: normal.' }),
  ),
  topic: Type.Optional(
    Type.String({ description: 'A later message with the same label replaces an undelivered earlier one.' }),
  ),
};

/** Of what is sent to many. */
export const perPersonSchema = Type.Optional(
  Type.String({
    description:
      'How often broadcasts with a cap may reach a person, such as 3/day (or /hour, /week). A person who has been ' +
      'reached that often is counted as capped.',
  }),
);
