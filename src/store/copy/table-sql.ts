// SQL that several of the copied tables use.

/** Of a broadcast `b` that is not over. */
export const isOpen = `b.state in ('running', 'paused')`;

/** Rows `t` of PostgreSQL; a broadcast may have been deleted while rows of it were written. */
export const ofBroadcasts = (table: string): string =>
  `deskbell.${table} t join deskbell.broadcasts b on b.id = t.broadcast_id`;

/** Sums over the shards in which PostgreSQL counts. */
export const sumsOf = (names: readonly string[]): string =>
  names.map((name) => `sum("${name}") as "${name}"`).join(', ');

/** Ids that are given out next follow those that are there. */
export const continueIds = (table: string): string => `
  select setval('deskbell.${table}_id_seq', greatest(max(id), 1), max(id) is not null) from deskbell.${table}`;
