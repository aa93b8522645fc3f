-- Leases slices and retries to workers.

-- Leases the next free slice; by number first, so that a small broadcast does not wait for a large one that began
-- earlier. p_broadcast: a broadcast, or 0 for any.
create function deskbell_functions.lease_slice(p_now_ms bigint, lease_ms bigint, p_token text, p_broadcast bigint)
returns table (broadcast_id bigint, number int, cursor bigint, through_position bigint) language plpgsql as $$
#variable_conflict use_column
declare
  now_ms bigint := deskbell_functions.clock(p_now_ms);
  candidate bigint;
  free int;
begin
  perform deskbell_functions.finish_overdue(now_ms);
  for candidate in
    select b.id from deskbell.broadcasts b
    cross join lateral (
      select s.number from deskbell.slices s
      where s.broadcast_id = b.id and s.lease_until_ms <= now_ms order by s.number limit 1) first
    where b.state = 'running' and b.start_at_ms <= now_ms and (p_broadcast = 0 or b.id = p_broadcast)
    order by first.number, b.id
  loop
    select s.number into free from deskbell.slices s
      where s.broadcast_id = candidate and s.lease_until_ms <= now_ms
      order by s.number limit 1 for update skip locked;
    continue when free is null;
    return query update deskbell.slices s set token = p_token, lease_until_ms = now_ms + lease_ms
      where s.broadcast_id = candidate and s.number = free
      returning s.broadcast_id, s.number, s.cursor, s.through_position;
    return;
  end loop;
end $$;

-- Rows of a broadcast at these positions, in their order, with what is known of their tries.
create function deskbell_functions.retry_rows(p_broadcast bigint, at_positions bigint[])
returns table (
  "position" bigint, subscription_id bigint, endpoint text, keys text, vapid_key_id int, updated_at_ms bigint,
  attempts int, deferrals int, expires_at_ms bigint, refusals int, refused_by int, refused_since_ms bigint
) language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  list bigint := (select b.audience_id from deskbell.broadcasts b where b.id = p_broadcast and b.rows_in = 'list');
begin
  if list is null then
    return query
      select r.position, s.id, s.endpoint, encode(s.p256dh || s.auth, 'hex'), s.vapid_key_id, s.updated_at_ms,
             r.attempts, r.deferrals, r.expires_at_ms, r.refusals, r.refused_by, r.refused_since_ms
      from deskbell.retries r
      join deskbell.subscriptions s on s.endpoint_hash = r.endpoint_hash and s.id = r.position
      where r.broadcast_id = p_broadcast and r.position = any (at_positions)
      order by array_position(at_positions, r.position);
  else
    return query
      select m.position, m.subscription_id, coalesce(m.endpoint, s.endpoint),
             encode(coalesce(m.p256dh, s.p256dh) || coalesce(m.auth, s.auth), 'hex'),
             s.vapid_key_id, case when m.endpoint is null then s.updated_at_ms end,
             r.attempts, r.deferrals, r.expires_at_ms, r.refusals, r.refused_by, r.refused_since_ms
      from deskbell.retries r
      join deskbell.audience_members m on m.audience_id = list and m.position = r.position
      left join deskbell.subscriptions s
        on s.endpoint_hash = m.endpoint_hash and (m.subscription_id is null or s.id = m.subscription_id)
      where r.broadcast_id = p_broadcast and r.position = any (at_positions)
        and (m.endpoint is not null or s.id is not null)
      order by array_position(at_positions, r.position);
  end if;
end $$;

-- Leases due retries of one running broadcast, the longest due first, or probes. p_broadcast: a broadcast, or 0 for any.
create function deskbell_functions.lease_retries(p_now_ms bigint, lease_ms bigint, p_token text, max_rows int, p_broadcast bigint)
returns table (
  broadcast_id bigint, are_probes boolean,
  "position" bigint, subscription_id bigint, endpoint text, keys text, vapid_key_id int, updated_at_ms bigint,
  attempts int, deferrals int, expires_at_ms bigint, refusals int, refused_by int, refused_since_ms bigint,
  waited_ms bigint, others_accepted boolean, only_strangers boolean, is_key_good boolean
) language plpgsql as $$
#variable_conflict use_column
declare
  now_ms bigint := deskbell_functions.clock(p_now_ms);
  probed int;
  held_since_ms bigint;
  chosen bigint;
  wanted bigint[];
  taken bigint[];
  kept bigint[];
begin
  select d.broadcast, d.positions, d.service, d.since_ms into chosen, wanted, probed, held_since_ms
    from deskbell_functions.draw_probes(p_broadcast, now_ms) d;
  are_probes := chosen is not null;
  if not are_probes then perform deskbell_functions.release_suspended(p_broadcast, max_rows, now_ms); end if;
  for chosen in
    select chosen where chosen is not null
    union all
    (select b.id from deskbell.broadcasts b
     cross join lateral (select min(r.due_at_ms) as at_ms from deskbell.retries r where r.broadcast_id = b.id) due
     where b.state = 'running' and b.start_at_ms <= now_ms and due.at_ms <= now_ms and (p_broadcast = 0 or b.id = p_broadcast)
     order by due.at_ms)
  loop
    if are_probes then
      taken := array(
        select r.position from deskbell.retries r
        where r.broadcast_id = chosen and r.position = any (wanted)
        order by array_position(wanted, r.position) for update skip locked);
    else
      taken := array(
        select r.position from deskbell.retries r
        where r.broadcast_id = chosen and r.due_at_ms <= now_ms
        order by r.due_at_ms limit max_rows for update skip locked);
    end if;
    kept := array(select t.position from deskbell_functions.retry_rows(chosen, taken) t);
    -- whose subscription has left the store
    delete from deskbell.retries r
      where r.broadcast_id = chosen and r.position = any (taken) and not r.position = any (kept);
    update deskbell.retries r set
      token = p_token, due_at_ms = now_ms + lease_ms, push_service_id = null, draw_order = null
      where r.broadcast_id = chosen and r.position = any (kept);
    if cardinality(kept) > 0 then
      -- of a probe: what is known since its push service is suspended
      return query
        select chosen, are_probes, t.*, now_ms - coalesce(held_since_ms, t.refused_since_ms), e.*
        from deskbell_functions.retry_rows(chosen, kept) t
        left join lateral deskbell_functions.refusal_evidence(
          coalesce(probed, t.refused_by), coalesce(held_since_ms, t.refused_since_ms)) e on true;
      return;
    end if;
    if cardinality(taken) > 0 then perform deskbell_functions.finish_if_over(chosen, now_ms); end if;
    are_probes := false;
    probed := null;
    held_since_ms := null;
  end loop;
end $$;

-- Locks the retries that are leased under a token in the order in which commits do, so that they do not wait for each other in
-- a circle.
create function deskbell_functions.lock_leased(p_broadcast bigint, p_token text) returns void language plpgsql as $$
begin
  perform from deskbell.retries where broadcast_id = p_broadcast and token = p_token order by position for update;
end $$;

-- extends the lease of the slice and the rows under this token
create function deskbell_functions.renew(p_now_ms bigint, lease_ms bigint, p_broadcast bigint, p_token text)
returns void language plpgsql as $$
declare
  until_ms bigint := deskbell_functions.clock(p_now_ms) + lease_ms;
begin
  update deskbell.slices set lease_until_ms = until_ms where broadcast_id = p_broadcast and token = p_token;
  perform deskbell_functions.lock_leased(p_broadcast, p_token);
  update deskbell.retries set due_at_ms = until_ms where broadcast_id = p_broadcast and token = p_token;
end $$;

-- gives the slice and the rows under this token back, for workers that wait
create function deskbell_functions.release(p_now_ms bigint, p_broadcast bigint, p_token text)
returns void language plpgsql as $$
begin
  update deskbell.slices set token = null, lease_until_ms = 0 where broadcast_id = p_broadcast and token = p_token;
  perform deskbell_functions.lock_leased(p_broadcast, p_token);
  update deskbell.retries set token = null, due_at_ms = deskbell_functions.clock(p_now_ms)
    where broadcast_id = p_broadcast and token = p_token;
  perform pg_notify(:workChannel, p_broadcast::text);
end $$;

-- In how many milliseconds a slice, a retry or a probe is due; null where nothing is. p_broadcast: a broadcast, or 0 for any.
create function deskbell_functions.due_in(p_now_ms bigint, p_broadcast bigint) returns bigint language sql volatile as $$
  select min(due.at_ms) - deskbell_functions.clock(p_now_ms)
  from deskbell.broadcasts b cross join lateral (
    select greatest(b.start_at_ms,
      (select s.lease_until_ms from deskbell.slices s where s.broadcast_id = b.id order by s.lease_until_ms limit 1))
      as at_ms where exists (select from deskbell.slices s where s.broadcast_id = b.id)
    union all
    select greatest(b.start_at_ms, r.due_at_ms)
      from (select min(due_at_ms) as due_at_ms from deskbell.retries where broadcast_id = b.id) r
      where r.due_at_ms is not null
    union all
    select greatest(b.start_at_ms, case when p.held_since_ms is null then 0 else p.probe_at_ms end)
      from deskbell.push_services p
      where exists (select from deskbell.retries r where r.broadcast_id = b.id and r.push_service_id = p.id)
  ) due
  where b.state = 'running' and (p_broadcast = 0 or b.id = p_broadcast)
$$;
