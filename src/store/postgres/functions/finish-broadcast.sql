-- Finishes broadcasts.

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
begin
  -- of two workers that take the last rows away at once, the second one waits here and then sees that nothing is left
  perform from deskbell.broadcasts where id = p_broadcast and state in ('running', 'paused') for no key update;
  if not found
    -- from the end, where the slices are that were leased last
    or (select number from deskbell.slices where broadcast_id = p_broadcast order by number desc limit 1) is not null
    or exists (select from deskbell.retries where broadcast_id = p_broadcast) then
    return '[]';
  end if;
  update deskbell.broadcasts set state = 'done', finished_at_ms = now_ms where id = p_broadcast;
  return deskbell_functions.decide_broadcast(p_broadcast, now_ms);
end $$;

-- Finishes the broadcasts that have outlived their message and that no worker has a lease of: what has no outcome is
-- expired.
create function deskbell_functions.finish_overdue(now_ms bigint) returns void language plpgsql as $$
declare
  overdue bigint;
begin
  for overdue in
    select b.id from deskbell.broadcasts b
    where b.state = 'running' and b.expires_at_ms <= now_ms
      and not exists (select from deskbell.slices s where s.broadcast_id = b.id and s.lease_until_ms > now_ms)
      and not exists (select from deskbell.retries r
                      where r.broadcast_id = b.id and r.token is not null and r.due_at_ms > now_ms)
    for no key update skip locked
  loop
    -- first these: a commit that is on its way is waited for, and counted
    delete from deskbell.slices where broadcast_id = overdue;
    delete from deskbell.retries where broadcast_id = overdue;
    update deskbell.broadcasts set state = 'done', finished_at_ms = now_ms,
      expired_unread = audience - coalesce((
        select sum(:settledRows)
        from deskbell.origin_counts where broadcast_id = overdue), 0)
    where id = overdue;
    perform deskbell_functions.decide_broadcast(overdue, now_ms);
  end loop;
end $$;
