// Audiences that are named by what they are, as schemas.

export const allAudience = { type: 'string', const: 'all' } as const;

/** Those of a user or with tags. */
export const matchingAudience = {
  type: 'object',
  minProperties: 1,
  additionalProperties: false,
  properties: {
    user: { type: 'string' },
    tags: {
      type: 'object',
      additionalProperties: false,
      properties: Object.fromEntries(
        ['all', 'any', 'none'].map((name) => [name, { type: 'array', items: { type: 'string' } }]),
      ),
    },
  },
} as const;
