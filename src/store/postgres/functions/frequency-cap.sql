-- How often persons were reached: see src/audience/frequency-cap.ts.

-- Reserves a reach for each person of a page, found by hashes of endpoints; the numbers of the rows, from 1, of those who
-- have been reached often enough.
create function deskbell_functions.reserve_reaches(
  p_now_ms bigint, p_broadcast bigint, hashes uuid[], max_reaches int, window_ms bigint
) returns jsonb language plpgsql
-- persons are few beside the tables
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  now_ms bigint := deskbell_functions.clock(p_now_ms);
  capped_rows jsonb;
begin
  -- Of two broadcasts that reach the same person at once, the second one sees what the first one has reserved. The lock is not held
  -- until that is on the disk: whoever loses it in a crash has not stored what came of these rows either, and reads them again.
  perform set_config('synchronous_commit', 'off', true);
  -- Pages of one broadcast need not see each other. Where it is the only one, they share the lock; one that begins meanwhile
  -- finds this one, and so waits for them.
  if exists (select from deskbell.broadcasts
             where per_person is not null and state in ('running', 'paused') and id <> p_broadcast) then
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
          and case when r.is_accepted then r.at_ms > now_ms - window_ms else b.state in ('running', 'paused') end)
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

-- keeps the reaches of those whose messages were accepted, found by ids or hashes of endpoints
create function deskbell_functions.accept_reaches(p_broadcast bigint, ids bigint[], hashes uuid[], now_ms bigint)
returns void language sql volatile as $$
  insert into deskbell.person_reaches as r (person, broadcast_id, at_ms, is_accepted)
  select distinct coalesce('user:' || s.user_name, 'subscription:' || s.id), p_broadcast, now_ms, true
  from deskbell.subscriptions s where s.id = any (ids) or s.endpoint_hash = any (hashes)
  order by 1
  on conflict (person, broadcast_id) do update set at_ms = excluded.at_ms, is_accepted = true
    where not r.is_accepted
$$;
