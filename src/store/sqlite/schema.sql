-- The triggers of the tables of ../tables.sql.

-- Triggers: subscriptions ------------------------------------------------------------------------------------------------------

create trigger subscription_gained after insert on subscriptions begin
  insert into subscription_counts (vapid_key_id, subscriptions) values (new.vapid_key_id, 1)
    on conflict (vapid_key_id, shard) do update set subscriptions = subscriptions + 1;
  insert into subscription_days (day, gained) values (new.created_at_ms / 86400000, 1)
    on conflict (day, shard) do update set gained = gained + 1;
end;
create trigger subscription_ended before delete on subscriptions
  when exists (select 1 from gone_marks where subscription_id = old.id)
begin
  insert into ended_subscriptions (id, endpoint, gone_at_ms, user_name)
    select old.id, old.endpoint, marked_at_ms, old.user_name from gone_marks where subscription_id = old.id;
  delete from ended_subscriptions
    where gone_at_ms < (select max(gone_at_ms) from ended_subscriptions) - 2592000000; -- 30 days
end;
create trigger subscription_loss_noted before delete on subscriptions begin
  insert into losses (subscription_id, at_ms, origin, reason)
    values (old.id, unixepoch() * 1000, substr(old.endpoint, 1, instr(substr(old.endpoint, 9), '/') + 7),
            iif(exists (select 1 from gone_marks where subscription_id = old.id), 'gone', 'removed'));
end;
create trigger subscription_lost after delete on subscriptions begin
  update subscription_counts set subscriptions = subscriptions - 1 where vapid_key_id = old.vapid_key_id;
  insert into subscription_days (day, lost) values (unixepoch() / 86400, 1)
    on conflict (day, shard) do update set lost = lost + 1;
  insert into removals (subscription_id, at_ms) values (old.id, unixepoch() * 1000);
  delete from receipts where subscription_id = old.id
    and broadcast_id in (select broadcast_id from receipt_windows);
end;
create trigger subscription_renewed after update of updated_at_ms on subscriptions begin
  delete from gone_marks where subscription_id = new.id;
end;
create trigger subscription_key_changed after update of vapid_key_id on subscriptions
  when old.vapid_key_id <> new.vapid_key_id
begin
  update subscription_counts set subscriptions = subscriptions - 1 where vapid_key_id = old.vapid_key_id;
  insert into subscription_counts (vapid_key_id, subscriptions) values (new.vapid_key_id, 1)
    on conflict (vapid_key_id, shard) do update set subscriptions = subscriptions + 1;
end;

-- Triggers: marks --------------------------------------------------------------------------------------------------------------

create trigger mark_added after insert on gone_marks when new.is_held = 1 begin
  insert into held_marks (origin, subscriptions) values (new.origin, 1)
    on conflict (origin, shard) do update set subscriptions = subscriptions + 1;
end;
create trigger mark_judged after update of is_held on gone_marks when new.is_held > old.is_held begin
  insert into held_marks (origin, subscriptions) values (new.origin, 1)
    on conflict (origin, shard) do update set subscriptions = subscriptions + 1;
end;
create trigger mark_not_held after update of is_held on gone_marks when new.is_held < old.is_held begin
  update held_marks set subscriptions = subscriptions - 1 where origin = old.origin;
end;
create trigger mark_dropped after delete on gone_marks when old.is_held = 1 begin
  update held_marks set subscriptions = subscriptions - 1 where origin = old.origin;
end;

-- Triggers: retries ------------------------------------------------------------------------------------------------------------

create trigger retry_added after insert on retries begin
  insert into waiting_rows (broadcast_id, push_service_id, rows)
    values (new.broadcast_id, iif(new.is_outside, -2, coalesce(new.push_service_id, iif(new.attempts = 0, -1, 0))), 1)
    on conflict (broadcast_id, push_service_id, shard) do update set rows = rows + 1;
end;
create trigger retry_dropped after delete on retries begin
  update waiting_rows set rows = rows - 1 where broadcast_id = old.broadcast_id
    and push_service_id = iif(old.is_outside, -2, coalesce(old.push_service_id, iif(old.attempts = 0, -1, 0)));
end;
create trigger retry_waits_otherwise after update of push_service_id, attempts, is_outside on retries
  when old.push_service_id is not new.push_service_id or (old.attempts = 0) <> (new.attempts = 0)
    or old.is_outside <> new.is_outside
begin
  update waiting_rows set rows = rows - 1 where broadcast_id = old.broadcast_id
    and push_service_id = iif(old.is_outside, -2, coalesce(old.push_service_id, iif(old.attempts = 0, -1, 0)));
  insert into waiting_rows (broadcast_id, push_service_id, rows)
    values (new.broadcast_id, iif(new.is_outside, -2, coalesce(new.push_service_id, iif(new.attempts = 0, -1, 0))), 1)
    on conflict (broadcast_id, push_service_id, shard) do update set rows = rows + 1;
end;
create trigger retry_noted after insert on retries begin
  update work set retries_at_ms = new.due_at_ms
    where broadcast_id = new.broadcast_id and (retries_at_ms is null or retries_at_ms > new.due_at_ms);
end;

-- Triggers: broadcasts ---------------------------------------------------------------------------------------------------------

create trigger broadcast_begun after insert on broadcasts when new.state = 'running' begin
  insert or replace into work (broadcast_id, is_high, slices_at_ms, retries_at_ms)
    values (new.id, new.priority is 'high', new.start_at_ms, new.start_at_ms);
end;
create trigger broadcast_resumed after update of state on broadcasts when new.state = 'running' begin
  insert or replace into work (broadcast_id, is_high, slices_at_ms, retries_at_ms)
    values (new.id, new.priority is 'high', new.start_at_ms, new.start_at_ms);
end;
create trigger broadcast_stopped after update of state on broadcasts when new.state <> 'running' begin
  delete from work where broadcast_id = new.id;
end;
create trigger broadcast_removed after delete on broadcasts begin
  delete from outcome_intervals where broadcast_id = old.id;
end;

-- Triggers: webhooks -----------------------------------------------------------------------------------------------------------

create trigger webhook_subscription_gone after insert on ended_subscriptions
  when exists (select 1 from webhook_watch where seen_at_ms > unixepoch() * 1000 - 604800000)
begin
  insert into webhook_events (type, at_ms, subscription_id, user_name)
    values ('subscription.gone', new.gone_at_ms, new.id, new.user_name);
end;
create trigger webhook_broadcast_done after update of finished_at_ms on broadcasts
  when new.finished_at_ms is not null and old.finished_at_ms is null
    and exists (select 1 from webhook_watch where seen_at_ms > unixepoch() * 1000 - 604800000)
begin
  insert into webhook_events (type, at_ms, broadcast_id)
    values ('broadcast.done', new.finished_at_ms, new.id);
end;
create trigger webhook_person_unreached after update of state on broadcasts
  when new.state = 'done' and old.state not in ('done', 'cancelled') and new.user_name is not null
    and not exists (select 1 from origin_counts where broadcast_id = new.id and accepted + doubtful > 0)
    and exists (select 1 from webhook_watch where seen_at_ms > unixepoch() * 1000 - 604800000)
begin
  insert into webhook_events (type, at_ms, broadcast_id, user_name)
    values ('person.unreached', coalesce(new.finished_at_ms, unixepoch() * 1000), new.id, new.user_name);
end;
create trigger webhook_broadcast_to_nobody after insert on broadcasts
  when new.state = 'done' and exists (select 1 from webhook_watch where seen_at_ms > unixepoch() * 1000 - 604800000)
begin
  insert into webhook_events (type, at_ms, broadcast_id) values ('broadcast.done', new.created_at_ms, new.id);
end;
create trigger webhook_alarm after insert on alarms
  when exists (select 1 from webhook_watch where seen_at_ms > unixepoch() * 1000 - 604800000)
begin
  insert into webhook_events (type, at_ms, broadcast_id, origin, reason, detail, rows)
    values ('alarm', new.first_at_ms, new.broadcast_id, new.origin, new.reason, new.detail, new.rows);
end;
