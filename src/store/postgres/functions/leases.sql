-- Leases slices and retries to workers.

-- Records in the table of work which slice was leased: the first free one from a given number, or null if none was free.
create function deskbell_functions.note_leased(p_broadcast bigint, from_slice int, leased int)
returns void language plpgsql as $$
declare
  known deskbell.work;
begin
  -- only every few slices: while an old snapshot is held, each update leaves a version of the row to skip
  if leased > :exactSlices and from_slice > 0 and leased % :sliceStep > 0 then return; end if;
  -- if somebody else is changing the row, the next lease records it
  select * into known from deskbell.work where broadcast_id = p_broadcast for no key update skip locked;
  if not found or leased < known.next_slice then return; end if;
  update deskbell.work set
    next_slice = leased + 1,
    -- if no slice is left, a worker that looks for retries finds that the broadcast is over
    retries_at_ms = case when leased is null then coalesce(retries_at_ms, 0) else retries_at_ms end,
    slices_at_ms = case when leased is not null and from_slice > 0 then slices_at_ms else (
      select min(s.lease_until_ms) from deskbell.slices s
      where s.broadcast_id = p_broadcast and (leased is null or s.number <= leased)) end
  where broadcast_id = p_broadcast;
end $$;

-- Leases the next free slice: the one with the lowest number in all broadcasts, so that a small broadcast need not wait for an
-- earlier large one. p_broadcast: 0 for any; high_first: whether high priority comes before or after the others.
create function deskbell_functions.lease_slice(
  p_now_ms bigint, lease_ms bigint, p_token text, p_broadcast bigint, high_first boolean
) returns table (
  broadcast_id bigint, number int, cursor bigint, through_position bigint, ids bytea, in_partition int, language text, time_zone text
)
language plpgsql
set enable_seqscan = off set enable_sort = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  now_ms bigint := deskbell_functions.clock(p_now_ms);
  head record;
  free int;
begin
  for head in
    select c.broadcast_id, c.from_slice
    from (values (high_first), (not high_first)) as o (is_high)
    cross join lateral (
      -- started, given back, or left by a worker that has died
      (select w.broadcast_id, 0 as from_slice from deskbell.work w
       where p_broadcast = 0 and w.is_high = o.is_high and w.slices_at_ms <= now_ms
       order by w.slices_at_ms, w.broadcast_id)
      union all
      (select w.broadcast_id, w.next_slice from deskbell.work w
       where p_broadcast = 0 and w.is_high = o.is_high and w.next_slice is not null
       order by w.next_slice, w.broadcast_id)
    ) c
    union all
    select w.broadcast_id, case when w.slices_at_ms <= now_ms then 0 else w.next_slice end
    from deskbell.work w
    where w.broadcast_id = p_broadcast and (w.slices_at_ms <= now_ms or w.next_slice is not null)
  loop
    free := null;
    select s.number into free from deskbell.slices s
      where s.broadcast_id = head.broadcast_id and s.number >= head.from_slice and s.lease_until_ms <= now_ms
      order by s.number limit 1 for update skip locked;
    if free is not null then
      return query
        with taken as (
          update deskbell.slices s set token = p_token, lease_until_ms = now_ms + lease_ms
          where s.broadcast_id = head.broadcast_id and s.number = free
          returning s.number, s.cursor, s.through_position)
        select b.id, t.number, t.cursor, t.through_position, :membersOf, a.in_partition, a.language, a.time_zone
        from taken t join deskbell.broadcasts b on b.id = head.broadcast_id
        left join deskbell.audience_sets a on a.audience_id = b.audience_id and a.number = t.number;
    end if;
    perform deskbell_functions.note_leased(head.broadcast_id, head.from_slice, free);
    exit when free is not null;
  end loop;
end $$;

-- Returns rows of a broadcast at these positions, in this order, with their attempts so far.
create function deskbell_functions.retry_rows(p_broadcast bigint, at_positions bigint[])
returns table (
  "position" bigint, subscription_id bigint, endpoint text, keys text, vapid_key_id int, updated_at_ms bigint,
  attempts int, deferrals int, expires_at_ms bigint, refusals int, refused_by int, refused_since_ms bigint,
  doubts int, is_outside boolean, language text, time_zone text
) language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
-- planning for all partitions takes longer than reading the rows
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  list bigint := (select b.audience_id from deskbell.broadcasts b where b.id = p_broadcast and b.rows_in = 'list');
begin
  if list is null then
    return query
      select r.position, s.id, s.endpoint, encode(s.p256dh || s.auth, 'hex'), s.vapid_key_id, s.updated_at_ms,
             r.attempts, r.deferrals, r.expires_at_ms, r.refusals, r.refused_by, r.refused_since_ms, r.doubts,
             r.is_outside, r.language, r.time_zone
      from deskbell.retries r
      join deskbell.subscriptions s on s.endpoint_hash = r.endpoint_hash and s.id = r.position
      where r.broadcast_id = p_broadcast and r.position = any (at_positions)
      order by array_position(at_positions, r.position);
  else
    return query
      select m.position, null::bigint, m.endpoint, encode(m.p256dh || m.auth, 'hex'), s.vapid_key_id, null::bigint,
             r.attempts, r.deferrals, r.expires_at_ms, r.refusals, r.refused_by, r.refused_since_ms, r.doubts,
             r.is_outside, r.language, r.time_zone
      from deskbell.retries r
      join deskbell.audience_members m on m.audience_id = list and m.position = r.position
      left join deskbell.subscriptions s on s.endpoint_hash = m.endpoint_hash
      where r.broadcast_id = p_broadcast and r.position = any (at_positions)
      order by array_position(at_positions, r.position);
  end if;
end $$;

-- Records in the table of work when the next retry is due, unless one is being stored.
create function deskbell_functions.note_due_retries(p_broadcast bigint) returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off
as $$
begin
  perform from deskbell.broadcasts where id = p_broadcast for update skip locked;
  if not found then return; end if;
  update deskbell.work set
    retries_at_ms = (select min(r.due_at_ms) from deskbell.retries r where r.broadcast_id = p_broadcast)
  where broadcast_id in (select broadcast_id from deskbell.work where broadcast_id = p_broadcast for no key update skip locked);
end $$;

-- Leases due retries of one running broadcast, the longest due first, or probes. p_broadcast: 0 for any; ahead_ms:
-- rows that were deferred without an attempt are due this much earlier. A row without a position means: nothing is
-- left of its broadcast, so end it.
create function deskbell_functions.lease_retries(
  p_now_ms bigint, lease_ms bigint, p_token text, max_rows int, p_broadcast bigint, ahead_ms bigint
)
returns table (
  broadcast_id bigint, are_probes boolean,
  "position" bigint, subscription_id bigint, endpoint text, keys text, vapid_key_id int, updated_at_ms bigint,
  attempts int, deferrals int, expires_at_ms bigint, refusals int, refused_by int, refused_since_ms bigint,
  doubts int, is_outside boolean, language text, time_zone text,
  waited_ms bigint, others_accepted boolean, only_strangers boolean, is_key_good boolean
) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  now_ms bigint := deskbell_functions.clock(p_now_ms);
  until_ms bigint := now_ms + ahead_ms;
  probed int;
  suspended_since_ms bigint;
  chosen bigint;
  wanted bigint[];
  taken bigint[];
  kept bigint[];
  dropped bigint;
begin
  select d.broadcast, d.positions, d.service, d.since_ms into chosen, wanted, probed, suspended_since_ms
    from deskbell_functions.draw_probes(p_broadcast, now_ms) d;
  are_probes := chosen is not null;
  if not are_probes then perform deskbell_functions.release_suspended(p_broadcast, max_rows, now_ms); end if;
  for chosen in
    select chosen where chosen is not null
    union all
    (select w.broadcast_id from deskbell.work w where p_broadcast = 0 and w.retries_at_ms <= until_ms order by w.retries_at_ms)
    union all
    select w.broadcast_id from deskbell.work w where w.broadcast_id = p_broadcast and w.retries_at_ms <= until_ms
  loop
    if are_probes then
      taken := array(
        select r.position from deskbell.retries r
        where r.broadcast_id = chosen and r.position = any (wanted)
        order by array_position(wanted, r.position) for update skip locked);
    else
      taken := array(
        select r.position from deskbell.retries r
        where r.broadcast_id = chosen and r.due_at_ms <= until_ms
          and (r.due_at_ms <= now_ms
            or ((r.attempts = 0 or r.deferrals > 0) and r.token is null and r.push_service_id is null))
        order by r.due_at_ms limit max_rows for update skip locked);
    end if;
    kept := array(select t.position from deskbell_functions.retry_rows(chosen, taken) t);
    -- rows whose subscription has left the store
    with left_behind as (
      delete from deskbell.retries r
      where r.broadcast_id = chosen and r.position = any (taken) and not r.position = any (kept)
      returning r.is_outside)
    select count(*) filter (where not l.is_outside) into dropped from left_behind l;
    if dropped > 0 then perform deskbell_functions.add_removed(chosen, dropped); end if;
    update deskbell.retries r set
      token = p_token, due_at_ms = now_ms + lease_ms, push_service_id = null, draw_order = null
      where r.broadcast_id = chosen and r.position = any (kept);
    if cardinality(kept) > 0 then
      -- for a probe: what is known since its push service was suspended
      return query
        select chosen, are_probes, t.*, now_ms - coalesce(suspended_since_ms, t.refused_since_ms), e.*
        from deskbell_functions.retry_rows(chosen, kept) t
        left join lateral deskbell_functions.refusal_evidence(
          coalesce(probed, t.refused_by), coalesce(suspended_since_ms, t.refused_since_ms)) e on true;
      return;
    end if;
    if exists (select from deskbell.broadcasts b where b.id = chosen and :mayEnd) then
      broadcast_id := chosen;
      return next;
    else
      perform deskbell_functions.note_due_retries(chosen);
    end if;
    are_probes := false;
    probed := null;
    suspended_since_ms := null;
  end loop;
end $$;

-- Locks the retries leased under a token, in the same order as commits, which prevents deadlocks.
create function deskbell_functions.lock_leased(p_broadcast bigint, p_token text) returns void language plpgsql as $$
begin
  perform from deskbell.retries where broadcast_id = p_broadcast and token = p_token order by position for update;
end $$;

-- Extends the lease of the slice, if there is one, and of the rows under this token.
create function deskbell_functions.renew(p_now_ms bigint, lease_ms bigint, p_broadcast bigint, p_token text, slice int)
returns void language plpgsql as $$
declare
  until_ms bigint := deskbell_functions.clock(p_now_ms) + lease_ms;
begin
  update deskbell.slices set lease_until_ms = until_ms where broadcast_id = p_broadcast and number = slice and token = p_token;
  perform deskbell_functions.lock_leased(p_broadcast, p_token);
  update deskbell.retries set due_at_ms = until_ms where broadcast_id = p_broadcast and token = p_token;
end $$;

-- Gives back the slice and the rows under this token.
create function deskbell_functions.release(p_now_ms bigint, p_broadcast bigint, p_token text, slice int)
returns void language plpgsql as $$
declare
  now_ms bigint := deskbell_functions.clock(p_now_ms);
  work_before deskbell.work;
begin
  if exists (select from deskbell.broadcasts where id = p_broadcast and state = 'cancelled') then
    delete from deskbell.slices where broadcast_id = p_broadcast and number = slice and token = p_token;
  end if;
  update deskbell.slices set token = null, lease_until_ms = 0
    where broadcast_id = p_broadcast and number = slice and token = p_token;
  perform deskbell_functions.lock_leased(p_broadcast, p_token);
  delete from deskbell.retries where broadcast_id = p_broadcast and token = p_token
    and exists (select from deskbell.broadcasts where id = p_broadcast and state = 'cancelled');
  update deskbell.retries set token = null, due_at_ms = now_ms where broadcast_id = p_broadcast and token = p_token;
  select * into work_before from deskbell.work where broadcast_id = p_broadcast for no key update;
  if not found then return; end if;
  perform deskbell.wake_retries(p_broadcast, now_ms);
  update deskbell.work set slices_at_ms = 0 where broadcast_id = p_broadcast;
  -- if it was 0, workers have already been notified
  if work_before.slices_at_ms is distinct from 0 and pg_notification_queue_usage() < 0.5 then perform pg_notify(:workChannel, p_broadcast::text); end if;
end $$;

-- Returns in how many milliseconds a slice, a retry or a probe may be due; null if there is none. p_broadcast: 0 for any.
create function deskbell_functions.due_in(p_now_ms bigint, p_broadcast bigint) returns bigint language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  now_ms bigint := deskbell_functions.clock(p_now_ms);
  at_ms bigint;
begin
  if p_broadcast = 0 then
    if exists (select from deskbell.work where is_high and next_slice is not null)
      or exists (select from deskbell.work where not is_high and next_slice is not null) then return 0; end if;
    at_ms := least((select min(slices_at_ms) from deskbell.work where is_high),
                   (select min(slices_at_ms) from deskbell.work where not is_high),
                   (select min(retries_at_ms) from deskbell.work));
  else
    select least(case when w.next_slice is null then w.slices_at_ms else 0 end, w.retries_at_ms) into at_ms
      from deskbell.work w join deskbell.broadcasts b on b.id = w.broadcast_id
      where w.broadcast_id = p_broadcast and b.finished_at_ms is null;
    if not found then return null; end if;
  end if;
  return least(at_ms, (
    select min(greatest(b.start_at_ms, case when s.suspended_since_ms is null then 0 else s.probe_at_ms end))
    from deskbell_functions.suspended_work(p_broadcast) s join deskbell.broadcasts b on b.id = s.broadcast_id)) - now_ms;
end $$;
