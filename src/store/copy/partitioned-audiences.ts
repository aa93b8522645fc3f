// Audiences that only PostgreSQL has: where a broadcast is so large that each of its slices is a range of ids in one partition,
// what is left of it is copied as a list of recipients, with as many slices. Everything else is read as it is.
import { partitions } from '../postgres/migrations.ts';
import type { PostgresMapping } from './copied-table.ts';

/** Of a broadcast `b` that is not over. */
export const isOpen = `b.state in ('running', 'paused')`;

/** When a slice `t` is free that nobody has leased. */
export const freeFrom = 'case when t.token is null then t.lease_until_ms else 0 end';

/** Temporary tables of the transaction that reads. */
export const partitioned = {
  broadcasts: 'pg_temp.partitioned_broadcasts',
  members: 'pg_temp.partitioned_members',
  slices: 'pg_temp.partitioned_slices',
} as const;

const inPartitions = `b.rows_in = 'partition' and ${isOpen}`;

/** Rows that no slice of theirs has read yet, those whose subscription was removed included, and rows that are to be tried again
 *  (slice -1). */
const rowsLeft = [
  ...Array.from(
    { length: partitions },
    (_, partition) => `
      select b.id as broadcast_id, l.number, s.id, s.endpoint_hash
      from deskbell.broadcasts b
      join deskbell.slices l on l.broadcast_id = b.id and l.number % ${partitions} = ${partition}
      join deskbell.subscriptions_${partition} s on s.id > l.cursor and s.id <= l.through_position
      where ${inPartitions}`,
  ),
  // they are counted where a worker comes to them
  `select b.id, l.number, r.subscription_id, null
   from deskbell.broadcasts b
   join deskbell.slices l on l.broadcast_id = b.id
   join deskbell.removals r on r.in_partition = l.number % ${partitions} and r.id > b.removals_after
     and r.subscription_id > l.cursor and r.subscription_id <= l.through_position
   where ${inPartitions}`,
  `select b.id, -1, t.position, t.endpoint_hash
   from deskbell.broadcasts b
   join deskbell.retries t on t.broadcast_id = b.id
   where ${inPartitions}`,
].join(' union all ');

/** Makes the temporary tables. */
export const listPartitionedAudiences = `
  create temp table partitioned_members on commit drop as
    select broadcast_id, number, row_number() over (partition by broadcast_id order by number, id) as position,
           id as subscription_id, endpoint_hash
    from (${rowsLeft}) rows_left;
  create unique index on partitioned_members (broadcast_id, subscription_id);
  create temp table partitioned_slices on commit drop as
    select l.broadcast_id, l.number, coalesce(min(m.position) - 1, 0) as cursor, coalesce(max(m.position), 0) as through_position
    from deskbell.broadcasts b
    join deskbell.slices l on l.broadcast_id = b.id
    left join partitioned_members m on m.broadcast_id = l.broadcast_id and m.number = l.number
    where ${inPartitions} group by 1, 2;
  create temp table partitioned_broadcasts on commit drop as
    select b.id as broadcast_id, b.created_at_ms,
           (select count(*) from partitioned_members m where m.broadcast_id = b.id) as members,
           (select greatest(max(a.id), max(q.last_value)) from deskbell.audiences_id_seq q left join deskbell.audiences a on true)
             + row_number() over (order by b.id) as audience_id
    from deskbell.broadcasts b where ${inPartitions};
  analyze partitioned_members;
`;

export const partitionedAudiences = `
  select id, members, created_at_ms from deskbell.audiences
  union all
  select audience_id, members, created_at_ms from ${partitioned.broadcasts}`;

export const partitionedMembers = `
  select m.audience_id, m.position, m.subscription_id, m.endpoint_hash, m.endpoint, m.p256dh, m.auth
  from deskbell.audience_members m join deskbell.audiences a on a.id = m.audience_id
  union all
  select b.audience_id, m.position, m.subscription_id, m.endpoint_hash, null, null, null
  from ${partitioned.members} m join ${partitioned.broadcasts} b on b.broadcast_id = m.broadcast_id`;

export const partitionedSlices = `
  select t.broadcast_id, t.number, t.cursor, t.through_position, ${freeFrom} as lease_until_ms
  from deskbell.slices t join deskbell.broadcasts b on b.id = t.broadcast_id
  where ${isOpen} and b.rows_in <> 'partition'
  union all
  select broadcast_id, number, cursor, through_position, 0 from ${partitioned.slices}`;

/** The subscription of a row that has left the store is left out where it was moved, as a worker would. */
export const partitionedRetries: PostgresMapping = {
  from: `deskbell.retries t
         join deskbell.broadcasts b on b.id = t.broadcast_id and ${isOpen}
         left join ${partitioned.members} m
           on b.rows_in = 'partition' and m.broadcast_id = b.id and m.subscription_id = t.position
         left join deskbell.subscriptions s on s.endpoint_hash = t.endpoint_hash and s.id = t.position
         where b.rows_in <> 'partition' or m.position is not null`,
  read: {
    position: 'coalesce(m.position, t.position)',
    endpoint_hash: `case b.rows_in when 'all' then s.endpoint_hash end`,
  },
};
