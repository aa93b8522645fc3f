-- Reads the rows of a slice.

-- Returns rows of a slice after a position, in order, as one row of text, which takes a third of the time of reading as many
-- rows. Omits subscriptions that have left the store. keys: p256dh and auth, 81 bytes per row in hexadecimal digits.
create function deskbell_functions.read_rows(p_broadcast bigint, slice int, after bigint, through bigint, max_rows int)
returns table (
  positions text, subscription_ids text, endpoints text, keys text, vapid_key_ids text, updated_at_ms text
) language plpgsql
-- plan once, for the index of ids: planning for all partitions takes longer than reading a page
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  head record;
begin
  select b.rows_in, b.audience_id into head from deskbell.broadcasts b where b.id = p_broadcast;
  if head.rows_in = 'list' then
    return query
      select string_agg(m.position::text, ',' order by m.position),
             string_agg(''::text, ','),
             string_agg(m.endpoint, chr(10) order by m.position),
             string_agg(encode(m.p256dh || m.auth, 'hex'), '' order by m.position),
             string_agg(coalesce(s.vapid_key_id::text, ''), ',' order by m.position),
             string_agg(''::text, ',')
      from (
        select * from deskbell.audience_members
        where audience_id = head.audience_id and position > after and position <= through
        order by position limit max_rows
      ) m
      left join deskbell.subscriptions s on s.endpoint_hash = m.endpoint_hash;
    return;
  end if;
  if head.rows_in = 'all' then
    return query
      select :pageColumns
      from (select * from deskbell.subscriptions where id > after and id <= through order by id limit max_rows) s;
    return;
  end if;
  return query execute format($page$
    select :pageColumns
    from (select * from deskbell.subscriptions_%s where id > $1 and id <= $2 order by id limit $3) s
  $page$, slice % :partitions)
    using after, through, max_rows;
end $$;

-- Returns rows with these ids, in order, in the same form. p_partition: null for any. At most max_rows.
create function deskbell_functions.read_members(p_partition int, ids bigint[], max_rows int)
returns table (
  positions text, subscription_ids text, endpoints text, keys text, vapid_key_ids text, updated_at_ms text
) language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
  if p_partition is null then
    return query
      select :pageColumns
      from (select * from deskbell.subscriptions where id = any (ids) order by id limit max_rows) s;
    return;
  end if;
  return query execute format($page$
    select :pageColumns
    from (select * from deskbell.subscriptions_%s where id = any ($1) order by id limit $2) s
  $page$, p_partition)
    using ids, max_rows;
end $$;

-- How often people were contacted: see src/audience/frequency-cap.ts.

-- Reserves a contact for each person of a page, found by hashes of endpoints. Returns the numbers, from 1, of rows
-- whose person has been contacted often enough.
create function deskbell_functions.reserve_reaches(
  p_now_ms bigint, p_broadcast bigint, hashes uuid[], max_reaches int, window_ms bigint
) returns jsonb language plpgsql
-- the page has few people compared with the tables
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  now_ms bigint := deskbell_functions.clock(p_now_ms);
  capped_rows jsonb;
begin
  -- If two broadcasts contact the same person at once, the second sees what the first has reserved. Do not wait for
  -- the disk while holding the lock: if a crash loses the reservation, no results of these rows were stored either,
  -- and they are read again.
  perform set_config('synchronous_commit', 'off', true);
  -- Pages of one broadcast need not see each other. If it is the only one, they share the lock. A broadcast that
  -- begins meanwhile finds this one, and therefore waits for them.
  if exists (select from deskbell.broadcasts
             where per_person is not null and state in ('running', 'paused') and finished_at_ms is null and id <> p_broadcast) then
    lock table deskbell.reaches_lock in share row exclusive mode;
  else
    lock table deskbell.reaches_lock in row exclusive mode;
  end if;
  with people as materialized (
    select h.number, coalesce('user:' || s.user_name, 'subscription:' || s.id) as person
    from unnest(hashes) with ordinality as h (hash, number)
    join deskbell.subscriptions s on s.endpoint_hash = h.hash
  ), capped as materialized (
    select p.person from (select distinct person from people) p
    where not exists (select from deskbell.person_reaches r
                      where r.person = p.person and r.broadcast_id = p_broadcast)
      and max_reaches <= (
        select count(*) from deskbell.person_reaches r
        left join deskbell.broadcasts b on b.id = r.broadcast_id
        where r.person = p.person
          and case when r.is_accepted then r.at_ms > now_ms - window_ms else b.finished_at_ms is null and b.id is not null end)
  ), reserved as (
    insert into deskbell.person_reaches (person, broadcast_id, at_ms, is_accepted)
    select distinct p.person, p_broadcast, now_ms, false from people p
    where p.person not in (select person from capped)
    order by 1
    on conflict do nothing
  )
  select coalesce(jsonb_agg(p.number), '[]') into capped_rows
  from people p where p.person in (select person from capped);
  return capped_rows;
end $$;

-- Keeps the contacts of people whose messages were accepted, found by ids or hashes of endpoints.
create function deskbell_functions.accept_reaches(p_broadcast bigint, ids bigint[], hashes uuid[], now_ms bigint)
returns void language sql volatile as $$
  insert into deskbell.person_reaches as r (person, broadcast_id, at_ms, is_accepted)
  select distinct coalesce('user:' || s.user_name, 'subscription:' || s.id), p_broadcast, now_ms, true
  from deskbell.subscriptions s where s.id = any (ids) or s.endpoint_hash = any (hashes)
  order by 1
  on conflict (person, broadcast_id) do update set at_ms = excluded.at_ms, is_accepted = true
    where not r.is_accepted
$$;
