-- Counts outcomes over time: see ../../statistics.ts.

-- adds to an interval of one push service; true if it is the first in this interval and shard
create function deskbell_functions.count_interval(
  p_broadcast bigint, width bigint, starts bigint, name text, p_shard int, counts bigint[]
) returns boolean language sql volatile as $$
  insert into deskbell.outcome_intervals as c (broadcast_id, width_ms, start_ms, push_service, shard, :outcomeColumns)
    values (p_broadcast, width, starts, name, p_shard, :membersOfCounts)
    on conflict (broadcast_id, width_ms, start_ms, push_service, shard) do update set :addOutcomes
    returning xmax = 0
$$;

-- counts what came of messages to one push service in the intervals of now; p_broadcast: null for a single message
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
  -- and the total, as an interval without width
  perform deskbell_functions.count_interval(0, 0, 0, name, p_shard, counts);
  if p_broadcast is not null then
    perform deskbell_functions.count_interval(
      p_broadcast, width, broadcast_start + age / width * width, name, p_shard, counts);
  end if;
end $$;
