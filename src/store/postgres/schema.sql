-- What PostgreSQL has besides the tables of ../tables.sql, in the schema "deskbell". Functions that the code calls
-- are in functions/*.sql; the ones here belong to triggers.

-- Locks ------------------------------------------------------------------------------------------------------------------------

-- Every role that can connect may take advisory locks, so tables and rows are locked instead, which needs the right
-- to write them.

-- These tables without columns are locked as a whole: "row exclusive" by any number of transactions at once, or
-- "share row exclusive" by one.
create table deskbell.subscriptions_lock ();
create table deskbell.reaches_lock ();

-- for changes that only one transaction at a time may make: each locks a row, by a hash of its name
create table deskbell.locks (
  place int primary key
);
insert into deskbell.locks (place) select generate_series(0, 255);

-- Tables -----------------------------------------------------------------------------------------------------------------------

do $$
begin
  for number in 0..31 loop
    execute format(
      'create table deskbell.subscriptions_%s partition of deskbell.subscriptions
       for values with (modulus 32, remainder %s)', number, number);
  end loop;
end $$;

-- recent requests of clients; not logged, so a crash clears them
create unlogged table deskbell.client_requests (
  place int primary key,
  -- a hash of request and address; another client may take the place at any time
  client uuid not null,
  requests int not null,
  ends_at_ms bigint not null
) with (fillfactor = 50);

-- commits that leave no other trace, kept while they may be repeated
create table deskbell.commits (
  id uuid primary key,
  at_ms bigint not null
);
create index commits_by_time on deskbell.commits (at_ms);

-- Triggers: subscriptions ------------------------------------------------------------------------------------------------------

-- Ids are assigned before their rows are committed. To know that no row with a lower id will appear, neither a
-- subscription nor a removal, a transaction takes the lock alone for a moment (freeze_subscriptions).
create function deskbell.announce_subscriptions() returns trigger language plpgsql as $$
begin
  lock table deskbell.subscriptions_lock in row exclusive mode;
  return null;
end $$;
create trigger subscriptions_announced before insert or delete on deskbell.subscriptions
  for each statement execute function deskbell.announce_subscriptions();

create function deskbell.count_subscriptions(of_key int, added bigint) returns void language sql as $$
  insert into deskbell.subscription_counts as c (vapid_key_id, shard, subscriptions)
    values (of_key, pg_backend_pid() % 16, added)
    on conflict (vapid_key_id, shard) do update set subscriptions = c.subscriptions + excluded.subscriptions
$$;
create function deskbell.count_day(of_day int, added bigint, removed bigint) returns void language sql as $$
  insert into deskbell.subscription_days as d (day, shard, gained, lost)
    values (of_day, pg_backend_pid() % 16, added, removed)
    on conflict (day, shard) do update set gained = d.gained + excluded.gained, lost = d.lost + excluded.lost
$$;

create function deskbell.count_gained() returns trigger language plpgsql as $$
begin
  perform deskbell.count_subscriptions(vapid_key_id, count(*)) from gained group by vapid_key_id order by vapid_key_id;
  perform deskbell.count_day((created_at_ms / 86400000)::int, count(*), 0)
    from gained group by created_at_ms / 86400000 order by created_at_ms / 86400000;
  return null;
end $$;
create trigger subscriptions_gained after insert on deskbell.subscriptions
  referencing new table as gained for each statement execute function deskbell.count_gained();

create function deskbell.end_subscriptions() returns trigger language plpgsql as $$
begin
  insert into deskbell.losses (subscription_id, at_ms, origin, reason)
    select r.id, (extract(epoch from clock_timestamp()) * 1000)::bigint, substring(r.endpoint from '^[^/]+//[^/]+'),
      case when exists (select from deskbell.gone_marks m where m.subscription_id = r.id) then 'gone' else 'removed' end
    from removed r order by r.id;
  with ended as (
    delete from deskbell.gone_marks m using removed r where m.subscription_id = r.id
    returning r.id, r.endpoint, r.user_name, m.marked_at_ms
  )
  insert into deskbell.ended_subscriptions (id, endpoint, user_name, gone_at_ms)
    select id, endpoint, user_name, marked_at_ms from ended order by id;
  if found then
    delete from deskbell.ended_subscriptions
      where gone_at_ms < (select max(gone_at_ms) from deskbell.ended_subscriptions) - 2592000000; -- 30 days
  end if;
  delete from deskbell.receipts t using removed r
    where t.subscription_id = r.id and t.broadcast_id in (select broadcast_id from deskbell.receipt_windows);
  perform deskbell.count_subscriptions(vapid_key_id, -count(*)) from removed group by vapid_key_id order by vapid_key_id;
  perform deskbell.count_day(floor(extract(epoch from clock_timestamp()) / 86400)::int, 0, count(*))
    from removed having count(*) > 0;
  insert into deskbell.removals (subscription_id, in_partition, at_ms)
    select r.id,
      (select p.number from generate_series(0, 31) as p (number)
       where satisfies_hash_partition('deskbell.subscriptions'::regclass, 32, p.number, r.endpoint_hash)
       limit 1),
      (extract(epoch from clock_timestamp()) * 1000)::bigint
    from removed r;
  return null;
end $$;
create trigger subscriptions_ended after delete on deskbell.subscriptions
  referencing old table as removed for each statement execute function deskbell.end_subscriptions();

create function deskbell.renew_subscriptions() returns trigger language plpgsql as $$
begin
  -- a change of user or tags does not renew a subscription that is marked gone
  delete from deskbell.gone_marks m using renewed n join former o on o.id = n.id
    where m.subscription_id = n.id and n.updated_at_ms <> o.updated_at_ms;
  perform deskbell.count_subscriptions(changed.key, sum(changed.added)::bigint) from (
      select n.vapid_key_id as key, 1 as added from renewed n join former o on o.id = n.id
        where n.vapid_key_id <> o.vapid_key_id
      union all
      select o.vapid_key_id, -1 from renewed n join former o on o.id = n.id where n.vapid_key_id <> o.vapid_key_id
    ) changed group by changed.key order by changed.key;
  return null;
end $$;
create trigger subscriptions_renewed after update on deskbell.subscriptions
  referencing old table as former new table as renewed for each statement execute function deskbell.renew_subscriptions();

-- Triggers: marks --------------------------------------------------------------------------------------------------------------

create function deskbell.count_held(of_origin text, added bigint) returns void language sql as $$
  insert into deskbell.held_marks as h (origin, shard, subscriptions)
    values (of_origin, pg_backend_pid() % 256, added)
    on conflict (origin, shard) do update set subscriptions = h.subscriptions + excluded.subscriptions
$$;
create function deskbell.count_marks_added() returns trigger language plpgsql as $$
begin
  perform deskbell.count_held(c.origin, c.rows)
    from (select origin, count(*) as rows from added where is_held group by origin order by origin) c;
  return null;
end $$;
create trigger marks_added after insert on deskbell.gone_marks
  referencing new table as added for each statement execute function deskbell.count_marks_added();
create function deskbell.count_marks_dropped() returns trigger language plpgsql as $$
begin
  perform deskbell.count_held(c.origin, -c.rows)
    from (select origin, count(*) as rows from dropped where is_held group by origin order by origin) c;
  return null;
end $$;
create trigger marks_dropped after delete on deskbell.gone_marks
  referencing old table as dropped for each statement execute function deskbell.count_marks_dropped();
create function deskbell.count_marks_judged() returns trigger language plpgsql as $$
begin
  perform deskbell.count_held(c.origin, c.rows) from (
    select origin, sum(rows)::bigint as rows from (
      select origin, 1 as rows from judged where is_held
      union all
      select origin, -1 from former where is_held) m
    group by origin having sum(rows) <> 0 order by origin) c;
  return null;
end $$;
create trigger marks_judged after update on deskbell.gone_marks
  referencing old table as former new table as judged for each statement
  execute function deskbell.count_marks_judged();

-- Triggers: retries ------------------------------------------------------------------------------------------------------------

-- by which column a retry is counted: see waiting_rows
create function deskbell.waits_for(service int, attempts int, is_outside boolean) returns int language sql immutable as $$
  select case when is_outside then -2 else coalesce(service, case when attempts = 0 then -1 else 0 end) end
$$;
create function deskbell.count_waiting(of_broadcast bigint, service int, added bigint) returns void language sql as $$
  insert into deskbell.waiting_rows as w (broadcast_id, push_service_id, shard, rows)
    values (of_broadcast, coalesce(service, 0), pg_backend_pid() % 256, added)
    on conflict (broadcast_id, push_service_id, shard) do update set rows = w.rows + excluded.rows
$$;
-- Records that a retry is due at this time. Transactions that store retries share a lock on the broadcast's row; one
-- that looks for the next due retry has it alone (note_due_retries).
create function deskbell.wake_retries(of_broadcast bigint, new_due_at_ms bigint) returns void language plpgsql as $$
begin
  perform from deskbell.broadcasts where id = of_broadcast for key share;
  update deskbell.work set retries_at_ms = new_due_at_ms
    where broadcast_id = of_broadcast and (retries_at_ms is null or retries_at_ms > new_due_at_ms);
end $$;
create function deskbell.count_retries_added() returns trigger language plpgsql as $$
begin
  perform deskbell.count_waiting(c.broadcast_id, c.service, c.rows)
    from (select broadcast_id, deskbell.waits_for(push_service_id, attempts, is_outside) as service, count(*) as rows
          from added group by 1, 2 order by 1, 2) c;
  perform deskbell.wake_retries(c.broadcast_id, c.due_at_ms)
    from (select broadcast_id, min(due_at_ms) as due_at_ms from added group by 1 order by 1) c;
  return null;
end $$;
create trigger retries_added after insert on deskbell.retries
  referencing new table as added for each statement execute function deskbell.count_retries_added();
create function deskbell.count_retries_dropped() returns trigger language plpgsql as $$
begin
  perform deskbell.count_waiting(c.broadcast_id, c.service, -c.rows)
    from (select broadcast_id, deskbell.waits_for(push_service_id, attempts, is_outside) as service, count(*) as rows
          from dropped group by 1, 2 order by 1, 2) c;
  return null;
end $$;
create trigger retries_dropped after delete on deskbell.retries
  referencing old table as dropped for each statement execute function deskbell.count_retries_dropped();
create function deskbell.count_retry_changed() returns trigger language plpgsql as $$
begin
  perform deskbell.count_waiting(old.broadcast_id, deskbell.waits_for(old.push_service_id, old.attempts, old.is_outside), -1);
  perform deskbell.count_waiting(new.broadcast_id, deskbell.waits_for(new.push_service_id, new.attempts, new.is_outside), 1);
  return null;
end $$;
create trigger retry_waits_otherwise after update on deskbell.retries for each row
  when (old.push_service_id is distinct from new.push_service_id or (old.attempts = 0) <> (new.attempts = 0)
    or old.is_outside <> new.is_outside)
  execute function deskbell.count_retry_changed();

-- Triggers: broadcasts ---------------------------------------------------------------------------------------------------------

create function deskbell.keep_work() returns trigger language plpgsql as $$
begin
  delete from deskbell.work where broadcast_id = new.id;
  if new.state = 'running' then
    insert into deskbell.work (broadcast_id, is_high, slices_at_ms, retries_at_ms)
      values (new.id, new.priority is not distinct from 'high', new.start_at_ms, new.start_at_ms);
  end if;
  -- wake workers: the broadcast may have work now, or has ended. Any role that can connect can fill the queue; once it is
  -- full, transactions with a notice fail. Without notices, workers poll
  if pg_notification_queue_usage() < 0.5 then perform pg_notify('deskbell_work', new.id::text); end if;
  return null;
end $$;
create trigger broadcasts_worked_on after insert or update of state on deskbell.broadcasts
  for each row execute function deskbell.keep_work();

-- waiting_rows after the retries, whose deletion is counted
create function deskbell.forget_broadcasts() returns trigger language plpgsql as $$
declare
  part text;
begin
  foreach part in array '{work,preparations,slices,retries,waiting_rows,origin_counts,outcome_intervals,removed_rows,alarms,
      attempt_sets,answers,answer_counts,receipt_windows,receipts,receipt_counts}'::text[] loop
    execute format('delete from deskbell.%I where broadcast_id in (select id from removed)', part);
  end loop;
  return null;
end $$;
create trigger broadcasts_removed after delete on deskbell.broadcasts
  referencing old table as removed for each statement execute function deskbell.forget_broadcasts();

-- Triggers: webhooks -----------------------------------------------------------------------------------------------------------

create function deskbell.has_webhook() returns boolean language sql stable as $$
  select exists (select from deskbell.webhook_watch
                 where seen_at_ms > extract(epoch from clock_timestamp()) * 1000 - 604800000)
$$;
create function deskbell.tell_of_ended() returns trigger language plpgsql as $$
begin
  if deskbell.has_webhook() then
    insert into deskbell.webhook_events (type, at_ms, subscription_id, user_name)
      select 'subscription.gone', gone_at_ms, id, user_name from ended order by id;
  end if;
  return null;
end $$;
create trigger ended_subscriptions_told after insert on deskbell.ended_subscriptions
  referencing new table as ended for each statement execute function deskbell.tell_of_ended();
create function deskbell.tell_of_broadcast() returns trigger language plpgsql as $$
begin
  if deskbell.has_webhook() then
    insert into deskbell.webhook_events (type, at_ms, broadcast_id) values (
      'broadcast.done',
      coalesce(new.finished_at_ms, (extract(epoch from clock_timestamp()) * 1000)::bigint), new.id);
    if new.state = 'done' and new.user_name is not null and not exists (
      select from deskbell.origin_counts where broadcast_id = new.id and accepted + doubtful > 0)
    then
      insert into deskbell.webhook_events (type, at_ms, broadcast_id, user_name) values (
        'person.unreached',
        coalesce(new.finished_at_ms, (extract(epoch from clock_timestamp()) * 1000)::bigint), new.id, new.user_name);
    end if;
  end if;
  return null;
end $$;
create trigger broadcasts_told after update of finished_at_ms on deskbell.broadcasts for each row
  when (new.finished_at_ms is not null and old.finished_at_ms is null)
  execute function deskbell.tell_of_broadcast();
create trigger broadcasts_to_nobody_told after insert on deskbell.broadcasts for each row
  when (new.state = 'done') execute function deskbell.tell_of_broadcast();
create function deskbell.tell_of_alarm() returns trigger language plpgsql as $$
begin
  if deskbell.has_webhook() then
    insert into deskbell.webhook_events (type, at_ms, broadcast_id, origin, reason, detail, rows)
      values ('alarm', new.first_at_ms, new.broadcast_id, new.origin, new.reason, new.detail, new.rows);
  end if;
  return null;
end $$;
create trigger alarms_told after insert on deskbell.alarms for each row execute function deskbell.tell_of_alarm();
