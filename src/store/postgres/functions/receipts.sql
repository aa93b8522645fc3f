-- Counts receipts: see ../../receipts.ts.

-- Each is counted once. How many were counted.
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
