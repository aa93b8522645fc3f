-- Finishes broadcasts, and counts rows of theirs that were removed.

-- decides what a broadcast has marked; the alarms that this raises
create function deskbell_functions.decide_broadcast(p_broadcast bigint, now_ms bigint) returns jsonb language plpgsql as $$
declare
  counted text;
  alarms jsonb := '[]';
begin
  for counted in
    select distinct origin from deskbell.origin_counts where broadcast_id = p_broadcast order by origin
  loop
    alarms := alarms || coalesce(
      deskbell_functions.raise_held(p_broadcast, counted, deskbell_functions.decide_origin(counted), now_ms), '[]');
  end loop;
  return alarms;
end $$;

-- Finishes the broadcast where no slice and no retry is left; the alarms that this raises.
create function deskbell_functions.finish_if_over(p_broadcast bigint, now_ms bigint) returns jsonb language plpgsql as $$
declare
  missing bigint;
  alarms jsonb := '[]';
begin
  -- of two workers that take the last rows away at once, the second one waits here and then sees that nothing is left
  perform from deskbell.broadcasts where id = p_broadcast and state in ('running', 'paused') for no key update;
  if not found
    -- from the end, where the slices are that were leased last
    or (select number from deskbell.slices where broadcast_id = p_broadcast order by number desc limit 1) is not null
    or exists (select from deskbell.retries where broadcast_id = p_broadcast) then
    return '[]';
  end if;
  update deskbell.broadcasts b set state = 'done', finished_at_ms = now_ms where id = p_broadcast
    returning b.audience
      - coalesce((select sum(:settledRows) from deskbell.origin_counts where broadcast_id = p_broadcast), 0)
      - coalesce((select sum(rows) from deskbell.removed_rows where broadcast_id = p_broadcast), 0) into missing;
  if missing <> 0 then
    alarms := coalesce(deskbell_functions.raise_alarm(
      p_broadcast, '', :countsDifferReason, :countsDifferDetail, abs(missing), now_ms), '[]');
  end if;
  return alarms || deskbell_functions.decide_broadcast(p_broadcast, now_ms);
end $$;

-- Counts rows whose subscription was removed before their turn.
create function deskbell_functions.add_removed(p_broadcast bigint, added bigint) returns void language sql volatile as $$
  insert into deskbell.removed_rows as c (broadcast_id, shard, rows) values (p_broadcast, pg_backend_pid() % 16, added)
    on conflict (broadcast_id, shard) do update set rows = c.rows + excluded.rows
$$;

-- How many subscriptions between two positions of a slice of all subscriptions were removed after its audience was frozen, and are
-- not among the rows that were read before.
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
