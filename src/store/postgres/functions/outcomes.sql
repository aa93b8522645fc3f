-- Results of messages: counts over time (../../statistics.ts), sets of rows (../../attempts.ts) and receipts
-- (../../receipts.ts).

-- Adds to an interval of one push service. Returns true if it is the first count in this interval and shard.
create function deskbell_functions.count_interval(
  p_broadcast bigint, width bigint, starts bigint, name text, p_shard int, counts bigint[]
) returns boolean language sql volatile as $$
  insert into deskbell.outcome_intervals as c (broadcast_id, width_ms, start_ms, push_service, shard, :outcomeColumns)
    values (p_broadcast, width, starts, name, p_shard, :membersOfCounts)
    on conflict (broadcast_id, width_ms, start_ms, push_service, shard) do update set :addOutcomes
    returning xmax = 0
$$;

-- Counts results of messages to one push service in the current intervals. p_broadcast: null for a single message.
create function deskbell_functions.count_outcomes(
  p_broadcast bigint, broadcast_start bigint, name text, p_shard int, counts bigint[], now_ms bigint
) returns void language plpgsql as $$
declare
  age bigint := greatest(0, now_ms - broadcast_start);
  width bigint := (:broadcastWidthsMs)[1 + width_bucket(age, :broadcastWidthsUntilMs)];
begin
  if deskbell_functions.count_interval(0, :coarseWidthMs, now_ms - now_ms % :coarseWidthMs, name, p_shard, counts) then
    delete from deskbell.outcome_intervals where broadcast_id = 0 and (
      width_ms = :fineWidthMs and start_ms < now_ms - :fineKeptMs
      or width_ms = :coarseWidthMs and start_ms < now_ms - :coarseKeptMs);
  end if;
  perform deskbell_functions.count_interval(0, :fineWidthMs, now_ms - now_ms % :fineWidthMs, name, p_shard, counts);
  -- the total is stored as an interval without width
  perform deskbell_functions.count_interval(0, 0, 0, name, p_shard, counts);
  if p_broadcast is not null then
    perform deskbell_functions.count_interval(
      p_broadcast, width, broadcast_start + age / width * width, name, p_shard, counts);
  end if;
end $$;

-- Stores sets of rows, and the answers that they got. sets: [{answerId, outcome, attempt, sinceMs, firstId, lastId,
-- rows}]; set_ids: their ids in the same order; answers: [{id, origin, outcome, status, reason, detail, rows}] in the
-- order of their ids.
create function deskbell_functions.store_attempts(
  p_broadcast bigint, now_ms bigint, own_shard int, sets jsonb, set_ids bytea[], answers jsonb
) returns void language plpgsql as $$
begin
  if jsonb_array_length(answers) = 0 then return; end if;
  insert into deskbell.answers (broadcast_id, id, origin, outcome, status, reason, detail)
    select p_broadcast, a."id", a."origin", a."outcome", a."status", a."reason", a."detail"
    from jsonb_to_recordset(answers) as a (
      "id" bigint, "origin" text, "outcome" text, "status" int, "reason" text, "detail" text)
    on conflict do nothing;
  insert into deskbell.answer_counts as c (broadcast_id, answer_id, shard, rows, last_at_ms)
    select p_broadcast, a."id", own_shard, a."rows", now_ms
    from jsonb_to_recordset(answers) as a ("id" bigint, "rows" bigint)
    where a."rows" > 0
    on conflict (broadcast_id, answer_id, shard) do update set
      rows = c.rows + excluded.rows, last_at_ms = excluded.last_at_ms;
  insert into deskbell.attempt_sets
    (broadcast_id, at_ms, since_ms, outcome, attempt, answer_id, first_id, last_id, rows, ids)
    select p_broadcast, now_ms, coalesce(s."sinceMs", now_ms), s."outcome", s."attempt", s."answerId", s."firstId", s."lastId",
           s."rows", s.ids
    from rows from (
      jsonb_to_recordset(sets) as (
        "answerId" bigint, "outcome" text, "attempt" int, "sinceMs" bigint, "firstId" bigint, "lastId" bigint, "rows" int),
      unnest(set_ids)
    ) as s ("answerId", "outcome", "attempt", "sinceMs", "firstId", "lastId", "rows", ids);
end $$;

-- Counts each receipt once. Returns how many were counted.
create function deskbell_functions.add_receipts(
  p_now_ms bigint, broadcasts bigint[], subscriptions bigint[], events text[], actions text[]
) returns bigint language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  now_ms bigint := deskbell_functions.clock(p_now_ms);
  added bigint;
begin
  with reported as (
    select distinct on (g.broadcast, g.subscription, g.event)
      g.broadcast, g.subscription, g.event, substring(s.endpoint from '^[a-z]+://[^/?#]+') as origin,
      case when g.event = 'clicked' and b.receipt_actions::jsonb ? g.action then g.action else :noAction end as action
    from unnest(broadcasts, subscriptions, events, actions) with ordinality
      as g (broadcast, subscription, event, action, number)
    join deskbell.receipt_windows w on w.broadcast_id = g.broadcast and w.ends_at_ms > now_ms
    join deskbell.broadcasts b on b.id = g.broadcast
    join deskbell.subscriptions s on s.id = g.subscription
    order by g.broadcast, g.subscription, g.event, g.number
  ), stored as (
    insert into deskbell.receipts (broadcast_id, subscription_id, event)
    select broadcast, subscription, event from reported
    on conflict do nothing
    returning broadcast_id, subscription_id, event
  ), counted as (
    insert into deskbell.receipt_counts as c (broadcast_id, origin, event, action, shard, count)
    select r.broadcast, r.origin, r.event, r.action, pg_backend_pid() % 16, count(*)
    from reported r join stored t
      on t.broadcast_id = r.broadcast and t.subscription_id = r.subscription and t.event = r.event
    group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (broadcast_id, origin, event, action, shard) do update set count = c.count + excluded.count
  )
  select count(*) into added from stored;
  return added;
end $$;
