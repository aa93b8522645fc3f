-- Stores the results of rows: see ../../ledger.ts.

-- Counts rows whose subscription was removed before their turn.
create function deskbell_functions.add_removed(p_broadcast bigint, added bigint) returns void language sql volatile as $$
  insert into deskbell.removed_rows as c (broadcast_id, shard, rows) values (p_broadcast, pg_backend_pid() % 16, added)
    on conflict (broadcast_id, shard) do update set rows = c.rows + excluded.rows
$$;

-- Counts the subscriptions between two positions of a slice of all subscriptions that were removed after the audience
-- was frozen, and are not among the rows that were read before.
create function deskbell_functions.count_removed(
  p_rows_in text, slice int, p_after bigint, p_from bigint, p_cursor bigint, positions bigint[]
) returns bigint language plpgsql
set enable_seqscan = off set enable_bitmapscan = off
as $$
begin
  return (
    select count(*) from deskbell.removals r
    where r.subscription_id > p_from and r.subscription_id <= p_cursor and r.id > p_after
      and (p_rows_in = 'all' or r.in_partition = slice % :partitions)
      and not r.subscription_id = any (positions));
end $$;

-- Converts rows to retry to their stored form. They are suspended if their push service is.
create function deskbell_functions.read_retries(now_ms bigint, retries jsonb) returns table (
  "position" bigint, hash uuid, due_at_ms bigint, attempts int, deferrals int, expires_at_ms bigint,
  is_detached boolean, push_service_id int, draw_order bigint, refusals int, refused_by int, refused_since_ms bigint,
  doubts int, is_outside boolean, language text, time_zone text
) language sql stable as $$
  select r."position", r."hash", case when p.suspended_since_ms is null then now_ms + r."delayMs" else r."expiresAtMs" end,
         r."attempts", r."deferrals", r."expiresAtMs", r."isDetached", case when p.suspended_since_ms is not null then p.id end,
         -- rows that the push service accepted before become probes first
         case when p.suspended_since_ms is not null then
           case when exists (select from deskbell.accepted_subscriptions a
                             where a.push_service_id = p.id and a.subscription_id = r."subscriptionId")
             then r."drawOrder" - :drawOrderEnd else r."drawOrder" end
         end,
         -- the number of refusals during a suspension says nothing about the row
         least(coalesce(r."refusals", 0), case when p.suspended_since_ms is not null then 1 end),
         case when r."isRefused" then p.id end, case when r."isRefused" then now_ms end,
         coalesce(r."doubts", 0), coalesce(r."isOutside", false), r."language", r."timeZone"
  from jsonb_to_recordset(retries) as r (
    "position" bigint, "hash" uuid, "delayMs" bigint, "attempts" int, "deferrals" int, "expiresAtMs" bigint,
    "isDetached" boolean, "origin" text, "heldKey" text, "drawOrder" bigint, "subscriptionId" bigint,
    "refusals" int, "isRefused" boolean, "doubts" int, "isOutside" boolean, "language" text, "timeZone" text)
  left join deskbell.push_services p on p.origin = r."origin" and p.vapid_public_key = r."heldKey"
$$;

-- Stores rows of a slice that will be retried, or that the worker keeps until their answers come.
create function deskbell_functions.add_retries(p_broadcast bigint, now_ms bigint, p_token text, retries jsonb)
returns void language sql volatile as $$
  insert into deskbell.retries (broadcast_id, position, endpoint_hash, due_at_ms, attempts, deferrals, expires_at_ms,
                                token, push_service_id, draw_order, refusals, refused_by, refused_since_ms, doubts,
                                is_outside, language, time_zone)
  select p_broadcast, p.position, p.hash, p.due_at_ms, p.attempts, p.deferrals, p.expires_at_ms,
         case when p.is_detached then p_token end, p.push_service_id, p.draw_order,
         p.refusals, p.refused_by, p.refused_since_ms, p.doubts, p.is_outside, p.language, p.time_zone
  from deskbell_functions.read_retries(now_ms, retries) p
$$;

-- Stores rows that were leased as retries under the token and are locked. Returns whether one of them is settled or
-- waits outside.
create function deskbell_functions.store_retries(p_broadcast bigint, now_ms bigint, p_token text, positions bigint[], retries jsonb)
returns boolean language plpgsql as $$
begin
  update deskbell.retries r set
    due_at_ms = p.due_at_ms, attempts = p.attempts, deferrals = p.deferrals, expires_at_ms = p.expires_at_ms,
    token = case when p.is_detached then p_token end,
    push_service_id = p.push_service_id, draw_order = p.draw_order, refusals = p.refusals,
    doubts = p.doubts, is_outside = p.is_outside,
    refused_by = coalesce(r.refused_by, p.refused_by),
    refused_since_ms = coalesce(r.refused_since_ms, p.refused_since_ms)
  from deskbell_functions.read_retries(now_ms, retries) p
  where r.broadcast_id = p_broadcast and r.position = p.position;
  delete from deskbell.retries r
    where r.broadcast_id = p_broadcast and r.position = any (positions)
      and not r.position in (select p.position from deskbell_functions.read_retries(now_ms, retries) p);
  return found or jsonb_path_exists(retries, '$[*] ? (@.isOutside == true)');
end $$;

-- Stores the results of rows, all of them or none. Calling it again with the same commit changes nothing. A row is
-- counted here and nowhere else. slice: null for rows of retries. A page is accepted if its slice is leased under the
-- token and the cursor is where the page begins. After a failover that has lost the previous page, it is not. Rows of
-- retries are accepted if all of them are leased under the token; otherwise "leased" names those that are.
create function deskbell_functions.commit_page(
  p_now_ms bigint, p_broadcast bigint, p_token text, lease_ms bigint, p_commit uuid, slice int, p_from bigint, p_cursor bigint,
  p_missing bigint,
  origins jsonb, services jsonb, positions bigint[], retries jsonb, answers_of jsonb,
  accepted_ids bigint[], accepted_hashes uuid[], alarms jsonb, answers jsonb, sets jsonb, set_ids bytea[], set_answers jsonb
) returns jsonb language plpgsql as $$
declare
  now_ms bigint := deskbell_functions.clock(p_now_ms);
  head record;
  through bigint;
  leased bigint[];
  is_lost boolean;
  may_be_over boolean := false;
  raised jsonb := '[]';
  judged jsonb;
  -- connections have consecutive numbers, so two of them rarely share a shard
  own_shard int := pg_backend_pid() % 64;
  removed bigint;
begin
  select state, start_at_ms, per_person, rows_in, removals_after into head from deskbell.broadcasts where id = p_broadcast;
  if not found then
    is_lost := true;
  elsif slice is not null then
    update deskbell.slices set cursor = p_cursor, lease_until_ms = now_ms + lease_ms, last_commit = p_commit::text
      where broadcast_id = p_broadcast and number = slice and token = p_token and cursor = p_from
      returning through_position into through;
    if not found then
      is_lost := not exists (select from deskbell.slices
                             where broadcast_id = p_broadcast and number = slice and last_commit = p_commit::text)
        and not exists (select from deskbell.commits where id = p_commit);
    end if;
  else
    leased := array(
      select r.position from deskbell.retries r
      where r.broadcast_id = p_broadcast and r.token = p_token and r.position = any (positions)
      -- in the same order everywhere, so that commits and renewals cannot deadlock
      order by r.position for update);
    if exists (select from deskbell.commits where id = p_commit) then
      leased := null;
      is_lost := false;
    elsif cardinality(leased) < cardinality(positions) then
      is_lost := cardinality(leased) = 0
        and not exists (select from deskbell.slices where broadcast_id = p_broadcast and token = p_token)
        and not exists (select from deskbell.retries where broadcast_id = p_broadcast and token = p_token);
    end if;
  end if;
  if is_lost is not null then
    return jsonb_build_object('isLeaseLost', is_lost, 'leased', to_jsonb(leased),
      'state', coalesce(head.state, 'cancelled'), 'newAlarms', raised, 'judged', raised, 'mayBeOver', not is_lost,
      'pushServices', deskbell_functions.push_service_states(now_ms));
  end if;

  perform deskbell_functions.update_push_services(answers, now_ms);
  -- a cancelled row is not retried, but an answer that is still to come is awaited
  if head.state = 'cancelled' then retries := jsonb_path_query_array(retries, '$[*] ? (@.isDetached == true)'); end if;
  if slice is null then
    insert into deskbell.commits (id, at_ms) values (p_commit, now_ms);
    may_be_over := deskbell_functions.store_retries(p_broadcast, now_ms, p_token, positions, retries);
  else
    if p_cursor >= through then
      delete from deskbell.slices where broadcast_id = p_broadcast and number = slice;
      -- no row of the slice is left to show that this commit was made
      insert into deskbell.commits (id, at_ms) values (p_commit, now_ms);
      may_be_over := true;
    end if;
    removed := case
      when p_missing is not null then p_missing
      -- in a list, every position belonged to a member
      when head.rows_in = 'list' then p_cursor - p_from - cardinality(positions)
      else deskbell_functions.count_removed(
        head.rows_in, slice, head.removals_after, p_from, p_cursor, positions) end;
    if removed <> 0 then perform deskbell_functions.add_removed(p_broadcast, removed); end if;
    perform deskbell_functions.add_retries(p_broadcast, now_ms, p_token, retries)
      where jsonb_array_length(retries) > 0;
  end if;

  -- in the same order everywhere, so that commits cannot deadlock
  insert into deskbell.origin_counts as c (broadcast_id, shard, origin, :outcomeColumns)
    select p_broadcast, own_shard, o."origin", :membersOfCounts
    from jsonb_to_recordset(origins) as o ("origin" text, "counts" bigint[])
    order by o."origin"
    on conflict (broadcast_id, shard, origin) do update set :addOutcomes;
  perform deskbell_functions.count_outcomes(p_broadcast, head.start_at_ms, s."name", own_shard, s."counts", now_ms)
    from (select * from jsonb_to_recordset(services) as r ("name" text, "counts" bigint[]) order by "name") s;

  if jsonb_array_length(alarms) > 0 then
    with page as (
      select * from jsonb_to_recordset(alarms) as a ("origin" text, "reason" text, "detail" text, "rows" bigint)
    ), stored as (
      insert into deskbell.alarms as a (broadcast_id, origin, reason, detail, first_at_ms, rows)
        select p_broadcast, p.origin, p.reason, p.detail, now_ms, p.rows from page p
        order by p.origin, p.reason
        on conflict (broadcast_id, origin, reason) do update set rows = a.rows + excluded.rows
        returning origin, reason, detail, rows
    )
    -- if the broadcast already had the alarm, it has more rows now
    select coalesce(jsonb_agg(jsonb_build_object('origin', s.origin, 'reason', s.reason, 'detail', s.detail,
        'firstAtMs', now_ms, 'rows', s.rows) order by s.origin, s.reason), '[]')
      into raised from stored s join page p using (origin, reason) where s.rows = p.rows;
  end if;
  judged := deskbell_functions.note_page(
    now_ms, origins, answers_of, accepted_ids, accepted_hashes);
  perform deskbell_functions.store_attempts(p_broadcast, now_ms, own_shard, sets, set_ids, set_answers);
  if head.per_person is not null and cardinality(accepted_ids) + cardinality(accepted_hashes) > 0 then
    perform deskbell_functions.accept_reaches(p_broadcast, accepted_ids, accepted_hashes, now_ms);
  end if;
  -- this comes last, because it may wait for a lease; rows of a slice were recorded when they were added. Use the
  -- stored state, because another commit may have suspended or opened their push service since
  if slice is null and jsonb_array_length(retries) > 0 then
    perform deskbell.wake_retries(p_broadcast,
      (select min(r.due_at_ms) from deskbell.retries r
       where r.broadcast_id = p_broadcast and r.position = any (positions)));
  end if;
  return jsonb_build_object('isLeaseLost', false, 'state', head.state, 'newAlarms', raised,
    'judged', judged, 'mayBeOver', may_be_over, 'pushServices', deskbell_functions.push_service_states(now_ms));
end $$;
