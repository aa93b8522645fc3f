// How messages are to be delivered, as schemas: in bodies of requests, and in what is shown.
import { Type, type OptionalSchema } from '../http/schema.ts';
import type { PushOptions } from '../protocol/request.ts';
import {
  deliveryOptions,
  type DeliveryOptions,
  type OptionDescription,
  type StoredOptions,
} from '../store/delivery-options.ts';

type Schemas<Options> = { readonly [Name in keyof Options]-?: OptionalSchema<NonNullable<Options[Name]>> };

/** Of a broadcast, and of one that recurs. */
export const deliveryOptionSchemas = Object.fromEntries(
  Object.entries<OptionDescription>(deliveryOptions).map(([name, option]) => {
    const { schema, description: text, byDefault } = option;
    const description = byDefault === undefined ? text : `${text} Default: ${byDefault}.`;
    return [name, Type.Optional(Type.Unsafe({ ...schema, description }))];
  }),
) as Schemas<DeliveryOptions>;

const { receipts: _isAsked, ...storedOptions } = deliveryOptionSchemas;

/** Of a broadcast as it is shown: its receipts are what browsers reported. */
export const storedOptionSchemas: Schemas<StoredOptions> = storedOptions;

const { ttlSeconds, urgency, topic } = deliveryOptionSchemas;

/** Of any message. */
export const pushOptionSchemas: Schemas<PushOptions> = { ttlSeconds, urgency, topic };
