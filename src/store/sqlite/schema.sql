-- All tables of the store in SQLite, with their indexes and triggers. Tables and columns have the names that they have in
-- ../postgres/schema.sql, whose comments describe them. Truth is 0 or 1, JSON is text. The shard is 0 for what PostgreSQL counts in
-- shards: one transaction writes at a time.

-- VAPID keys -------------------------------------------------------------------------------------------------------------------

create table vapid_keys (
  id integer primary key,
  public_key text not null unique,
  state text check (state in ('next', 'current', 'previous', 'retired'))
) strict;
create unique index vapid_keys_offered on vapid_keys (state) where state in ('next', 'current');

create table subscription_counts (
  vapid_key_id integer not null,
  shard integer not null default 0,
  subscriptions integer not null,
  primary key (vapid_key_id, shard)
) strict, without rowid;

-- Subscriptions ----------------------------------------------------------------------------------------------------------------

create table subscriptions (
  id integer primary key autoincrement,
  endpoint text not null unique check (length(endpoint) between 1 and 4096),
  p256dh blob not null check (length(p256dh) = 65),
  auth blob not null check (length(auth) = 16),
  vapid_key_id integer not null references vapid_keys (id),
  created_at_ms integer not null,
  updated_at_ms integer not null,
  user_name text check (length(cast(user_name as blob)) between 1 and 128),
  language text,
  time_zone text,
  channels text
) strict;
create index subscriptions_by_user on subscriptions (user_name) where user_name is not null;
create index subscriptions_by_key on subscriptions (substr(p256dh, 2, 8));
-- subscriptions of one push service, by its origin with a slash, in the order of ids
create index subscriptions_by_push_service on subscriptions (substr(endpoint, 1, instr(substr(endpoint, 9), '/') + 8));

create table subscription_tags (
  tag text not null check (length(cast(tag as blob)) between 1 and 64),
  subscription_id integer not null references subscriptions (id) on delete cascade,
  primary key (tag, subscription_id)
) strict, without rowid;
create index subscription_tags_by_subscription on subscription_tags (subscription_id, tag);

create table subscription_days (
  day integer not null,
  shard integer not null default 0,
  gained integer not null default 0,
  lost integer not null default 0,
  primary key (day, shard)
) strict, without rowid;

create table ended_subscriptions (
  id integer primary key,
  endpoint text not null,
  user_name text,
  gone_at_ms integer not null
) strict;
create index ended_subscriptions_by_time on ended_subscriptions (gone_at_ms);
create index ended_subscriptions_by_user on ended_subscriptions (user_name) where user_name is not null;

create table removals (
  id integer primary key autoincrement,
  subscription_id integer not null,
  at_ms integer not null
) strict;
create index removals_by_subscription on removals (subscription_id);

create table invitations (
  token_hash blob primary key check (length(token_hash) = 32),
  user_name text not null,
  expires_at_ms integer not null,
  consumed_by text
) strict;

create table unlisted_push_services (
  origin text primary key,
  added_at_ms integer not null,
  -- null: it has a place
  dormant_since_ms integer
) strict, without rowid;

-- People and channels ----------------------------------------------------------------------------------------------------------

create table people (
  user_name text primary key,
  data text not null,
  language text,
  time_zone text,
  channels text,
  updated_at_ms integer not null
) strict;

create table channels (
  name text primary key,
  title text not null,
  titles text not null,
  is_on_by_default integer not null
) strict, without rowid;

create table person_reaches (
  person text not null,
  broadcast_id integer not null,
  at_ms integer not null,
  is_accepted integer not null,
  primary key (person, broadcast_id)
) strict, without rowid;
create index person_reaches_by_time on person_reaches (at_ms);

-- Audiences --------------------------------------------------------------------------------------------------------------------

create table audiences (
  id integer primary key autoincrement,
  members integer not null default 0,
  created_at_ms integer not null
) strict;

create table audience_members (
  audience_id integer not null references audiences (id) on delete cascade,
  position integer not null,
  endpoint text not null,
  p256dh blob not null check (length(p256dh) = 65),
  auth blob not null check (length(auth) = 16),
  primary key (audience_id, position)
) strict, without rowid;
create unique index audience_members_by_endpoint on audience_members (audience_id, endpoint);

create table audience_sets (
  audience_id integer not null references audiences (id) on delete cascade,
  number integer not null,
  -- PostgreSQL's; here null
  in_partition integer,
  first_id integer not null,
  last_id integer not null,
  rows integer not null,
  ids blob not null,
  language text,
  time_zone text,
  left_out integer not null default 0,
  primary key (audience_id, number)
) strict;
create index audience_sets_by_member on audience_sets (audience_id, first_id, last_id);

-- Broadcasts -------------------------------------------------------------------------------------------------------------------

create table broadcasts (
  id integer primary key autoincrement,
  idempotency_key text unique,
  content_hash blob not null,
  state text not null check (state in ('running', 'paused', 'cancelled', 'done')),
  payload blob not null,
  ttl_seconds integer not null,
  urgency text not null,
  topic text,
  audience_id integer references audiences (id) on delete set null,
  user_name text,
  receipt_actions text,
  -- what its positions are: those of a list, or ids of subscriptions
  rows_in text not null check (rows_in in ('list', 'all')),
  audience integer not null,
  created_at_ms integer not null,
  start_at_ms integer not null,
  expires_at_ms integer not null,
  finished_at_ms integer,
  per_person text,
  attempts_dropped_at_ms integer,
  priority text,
  removals_after integer not null,
  asked_audience text,
  created_by text,
  channel text,
  local_time text,
  if_time_passed text,
  quiet_hours text,
  time_zone text,
  has_texts integer not null default 0,
  has_placeholders integer not null default 0,
  skip_inactive integer,
  inactive integer not null default 0
) strict;
create index broadcasts_running on broadcasts (id) where state = 'running';
create index broadcasts_open on broadcasts (id) where state in ('running', 'paused');
create index broadcasts_by_state on broadcasts (state, start_at_ms) where state = 'running' or state = 'paused';
create index broadcasts_by_user on broadcasts (user_name) where user_name is not null;
create index broadcasts_by_audience on broadcasts (audience_id) where audience_id is not null;
create index broadcasts_by_end on broadcasts (coalesce(finished_at_ms, expires_at_ms), id)
  where state in ('done', 'cancelled');
create index broadcasts_by_removals on broadcasts (removals_after) where state in ('running', 'paused');

create table broadcast_texts (
  broadcast_id integer not null references broadcasts (id) on delete cascade,
  language text not null,
  payload blob not null,
  recipients integer not null default 0,
  primary key (broadcast_id, language)
) strict;

create table preparations (
  broadcast_id integer primary key references broadcasts (id) on delete cascade,
  expression text not null,
  slice_rows integer not null,
  done_through integer not null default 0,
  through_id integer not null,
  width integer not null,
  next_number integer not null default 0,
  is_paused integer not null default 0,
  token text,
  lease_until_ms integer not null default 0,
  split text
) strict;

-- broadcasts that recur; audience and message are JSON
create table schedules (
  id integer primary key autoincrement,
  cron text not null,
  timezone text not null,
  audience text not null,
  user_name text,
  message text not null,
  ttl_seconds integer,
  urgency text,
  topic text,
  receipts integer not null,
  created_at_ms integer not null,
  next_at_ms integer not null,
  lease_until_ms integer not null default 0,
  last_broadcast_id integer,
  per_person text,
  priority text,
  paused_at_ms integer,
  channel text,
  local_time text,
  if_time_passed text,
  quiet_hours text,
  time_zone text,
  skip_inactive integer
) strict;
create index schedules_by_time on schedules (next_at_ms);

-- Sending ----------------------------------------------------------------------------------------------------------------------

create table work (
  broadcast_id integer primary key references broadcasts (id) on delete cascade,
  is_high integer not null,
  -- slices from this number on may be free; null: no such slice
  next_slice integer,
  slices_at_ms integer,
  retries_at_ms integer
) strict;
create index work_slices_due on work (is_high, slices_at_ms);
create index work_slices_next on work (is_high, next_slice) where next_slice is not null;
create index work_retries_due on work (retries_at_ms);

-- a slice that is done is deleted
create table slices (
  broadcast_id integer not null references broadcasts (id) on delete cascade,
  number integer not null,
  cursor integer not null,
  through_position integer not null,
  token text,
  lease_until_ms integer not null default 0,
  primary key (broadcast_id, number)
) strict, without rowid;

create table retries (
  broadcast_id integer not null references broadcasts (id) on delete cascade,
  position integer not null,
  due_at_ms integer not null,
  attempts integer not null,
  deferrals integer not null,
  expires_at_ms integer not null,
  token text,
  push_service_id integer references push_services (id),
  draw_order integer,
  refusals integer not null default 0,
  refused_by integer,
  refused_since_ms integer,
  language text,
  time_zone text,
  doubts integer not null default 0,
  primary key (broadcast_id, position)
) strict, without rowid;
create index retries_by_due on retries (broadcast_id, due_at_ms);
create index retries_by_token on retries (broadcast_id, token) where token is not null;
create index retries_suspended on retries (push_service_id, broadcast_id, draw_order) where push_service_id is not null;

create table waiting_rows (
  broadcast_id integer not null references broadcasts (id) on delete cascade,
  push_service_id integer not null,
  shard integer not null default 0,
  rows integer not null,
  primary key (broadcast_id, push_service_id, shard)
) strict, without rowid;

-- who sends now, and what each knows of push services, as JSON
create table senders (
  id text primary key,
  started_at_ms integer not null,
  seen_at_ms integer not null,
  report text not null
) strict, without rowid;

create table sending_pause (
  id integer primary key check (id = 1),
  since_ms integer not null,
  reason text not null check (reason in ('restored', 'asked')),
  broadcast_ids text not null
) strict;

create table message_requests (
  key text primary key,
  content_hash blob not null check (length(content_hash) = 32),
  claim text not null default '',
  at_ms integer not null,
  answer text
) strict, without rowid;
create index message_requests_by_time on message_requests (at_ms);

-- Results of rows --------------------------------------------------------------------------------------------------------------

create table origin_counts (
  broadcast_id integer not null references broadcasts (id) on delete cascade,
  shard integer not null default 0,
  origin text not null,
  attempts integer not null,
  accepted integer not null,
  gone integer not null,
  rejected integer not null,
  expired integer not null,
  exhausted integer not null,
  capped integer not null default 0,
  doubtful integer not null default 0,
  dormant integer not null default 0,
  primary key (broadcast_id, shard, origin)
) strict, without rowid;

create table outcome_intervals (
  broadcast_id integer not null,
  width_ms integer not null,
  start_ms integer not null,
  push_service text not null,
  shard integer not null default 0,
  attempts integer not null,
  accepted integer not null,
  gone integer not null,
  rejected integer not null,
  expired integer not null,
  exhausted integer not null,
  capped integer not null default 0,
  doubtful integer not null default 0,
  dormant integer not null default 0,
  primary key (broadcast_id, width_ms, start_ms, push_service, shard)
) strict, without rowid;

create table removed_rows (
  broadcast_id integer not null references broadcasts (id) on delete cascade,
  shard integer not null default 0,
  rows integer not null,
  primary key (broadcast_id, shard)
) strict, without rowid;

create table answers (
  broadcast_id integer not null references broadcasts (id) on delete cascade,
  id integer not null,
  origin text not null,
  outcome text not null,
  status integer,
  reason text,
  detail text,
  primary key (broadcast_id, id)
) strict, without rowid;

create table answer_counts (
  broadcast_id integer not null references broadcasts (id) on delete cascade,
  answer_id integer not null,
  shard integer not null default 0,
  rows integer not null,
  last_at_ms integer not null,
  primary key (broadcast_id, answer_id, shard)
) strict, without rowid;

create table attempt_sets (
  id integer primary key,
  broadcast_id integer not null references broadcasts (id) on delete cascade,
  at_ms integer not null,
  since_ms integer not null,
  outcome text not null,
  attempt integer not null,
  answer_id integer not null,
  first_id integer not null,
  last_id integer not null,
  rows integer not null,
  ids blob not null
) strict;
create index attempt_sets_by_outcome on attempt_sets (broadcast_id, outcome);
create index attempt_sets_by_member on attempt_sets (broadcast_id, first_id, last_id);

create table receipt_windows (
  broadcast_id integer primary key references broadcasts (id) on delete cascade,
  ends_at_ms integer not null
) strict;
create table receipts (
  broadcast_id integer not null references broadcasts (id) on delete cascade,
  subscription_id integer not null,
  event text not null check (event in ('shown', 'clicked', 'dismissed')),
  primary key (broadcast_id, subscription_id, event)
) strict, without rowid;
create index receipts_by_subscription on receipts (subscription_id, event, broadcast_id);
create table receipt_counts (
  broadcast_id integer not null references broadcasts (id) on delete cascade,
  origin text not null,
  event text not null,
  action text not null,
  shard integer not null default 0,
  count integer not null,
  primary key (broadcast_id, origin, event, action, shard)
) strict, without rowid;

-- Push services ----------------------------------------------------------------------------------------------------------------

create table push_services (
  id integer primary key,
  origin text not null,
  vapid_public_key text not null,
  refusals_in_row integer not null default 0,
  refusals_to_suspend integer not null,
  suspended_since_ms integer,
  probe_at_ms integer not null default 0,
  draws integer not null default 0,
  wait_until_ms integer not null default 0,
  refused_at_ms integer not null default 0,
  accepted_at_ms integer not null default 0,
  known_refused_at_ms integer not null default 0,
  unique (origin, vapid_public_key)
) strict;

create table accepted_subscriptions (
  push_service_id integer not null references push_services (id) on delete cascade,
  slot integer not null,
  subscription_id integer not null,
  primary key (push_service_id, slot)
) strict, without rowid;

create table rate_limits (
  origin text primary key,
  permits real not null,
  refilled_at_ms integer not null,
  queued_until_ms integer not null,
  sent_at_ms integer not null
) strict, without rowid;

create table gone_marks (
  subscription_id integer primary key references subscriptions (id) on delete cascade,
  origin text not null,
  answer_window integer not null,
  marked_at_ms integer not null,
  updated_at_ms integer not null,
  -- 1: an operator decides
  is_held integer not null default 0
) strict;
create index gone_marks_by_origin on gone_marks (origin, is_held, answer_window);
create index gone_marks_held on gone_marks (origin, marked_at_ms) where is_held = true;

create table held_marks (
  origin text not null,
  shard integer not null default 0,
  subscriptions integer not null,
  primary key (origin, shard)
) strict, without rowid;

create table answer_windows (
  id integer primary key,
  origin text not null,
  number integer,
  answers integer not null,
  accepted integer not null,
  is_of_pages integer not null,
  from_ms integer not null default 0,
  marks_ms integer not null default 0
) strict;
create index answer_windows_by_origin on answer_windows (origin, number);

create table uncounted_answers (
  origin text not null,
  shard integer not null default 0,
  answers integer not null,
  accepted integer not null,
  primary key (origin, shard)
) strict, without rowid;

create table deletion_guards (
  origin text primary key,
  few_deleted integer not null default 0
) strict, without rowid;

-- Alarms and webhooks ----------------------------------------------------------------------------------------------------------

create table alarms (
  broadcast_id integer not null references broadcasts (id) on delete cascade,
  origin text not null,
  reason text not null,
  detail text not null,
  first_at_ms integer not null,
  rows integer not null,
  is_past integer not null default 0,
  primary key (broadcast_id, origin, reason)
) strict, without rowid;
create index alarms_standing on alarms (origin, reason) where is_past = 0;

create table acknowledgements (
  alarm text primary key,
  operator text not null,
  note text not null,
  at_ms integer not null,
  count integer not null,
  broadcasts integer not null
) strict, without rowid;

create table webhook_watch (
  id integer primary key check (id = 1),
  seen_at_ms integer not null,
  dropped integer not null default 0
) strict;
create table webhook_events (
  id text primary key default (lower(hex(randomblob(16)))),
  type text not null,
  at_ms integer not null,
  due_at_ms integer not null default 0,
  attempts integer not null default 0,
  broadcast_id integer,
  subscription_id integer,
  user_name text,
  origin text,
  reason text,
  detail text,
  rows integer
) strict;
create index webhook_events_by_due on webhook_events (due_at_ms);
create index webhook_events_by_time on webhook_events (at_ms);
create index webhook_events_by_user on webhook_events (user_name) where user_name is not null;

-- Operators --------------------------------------------------------------------------------------------------------------------

create table operators (
  id integer primary key autoincrement,
  name text not null unique,
  role text not null check (role in ('full', 'read', 'send', 'metrics')),
  token_hash blob not null unique check (length(token_hash) = 32),
  created_at_ms integer not null
) strict;

create table console_sessions (
  name_hash blob primary key check (length(name_hash) = 32),
  operator_id integer not null references operators (id) on delete cascade,
  ends_at_ms integer not null
) strict, without rowid;

create table operator_broadcasts (
  broadcast_id integer primary key references broadcasts (id) on delete cascade,
  operator_id integer not null references operators (id) on delete cascade
) strict;
create index operator_broadcasts_by_operator on operator_broadcasts (operator_id, broadcast_id);

create table audit (
  id integer primary key autoincrement,
  at_ms integer not null,
  operator text not null,
  action text not null,
  target text,
  status integer
) strict;
create index audit_by_time on audit (at_ms);
create index audit_by_operator on audit (operator, at_ms, id);
create index audit_by_action on audit (action, at_ms, id);

-- Bells ------------------------------------------------------------------------------------------------------------------------

-- addresses with a secret: what is posted there becomes a broadcast to one audience
create table bells (
  id integer primary key autoincrement,
  name text not null unique,
  secret_hash blob not null unique check (length(secret_hash) = 32),
  -- JSON: "all", or the expression of user and tags
  audience text not null,
  -- the only person that it is for
  user_name text,
  -- JSON: channel, defaults of the message, and where its texts stand in JSON
  settings text not null,
  created_at_ms integer not null,
  -- how many requests came in that minute since 1970
  minute integer not null default 0,
  rung integer not null default 0,
  -- the broadcast that counts those over the limit, in that minute; how many, and since when
  folded_into integer,
  folded_minute integer not null default 0,
  folded integer not null default 0,
  folded_since_ms integer not null default 0
) strict;
create index bells_by_user on bells (user_name) where user_name is not null;

-- the last requests of each bell
create table bell_requests (
  id integer primary key autoincrement,
  bell_id integer not null references bells (id) on delete cascade,
  at_ms integer not null,
  tool text not null,
  outcome text not null,
  -- it may have been deleted
  broadcast_id integer,
  -- null: nothing
  left_out text,
  -- members and types of JSON that was not understood
  shape text
) strict;
create index bell_requests_by_bell on bell_requests (bell_id, id);

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
create trigger subscription_lost after delete on subscriptions begin
  update subscription_counts set subscriptions = subscriptions - 1 where vapid_key_id = old.vapid_key_id;
  insert into subscription_days (day, lost) values (unixepoch() / 86400, 1)
    on conflict (day, shard) do update set lost = lost + 1;
end;
create trigger subscription_removed after delete on subscriptions begin
  insert into removals (subscription_id, at_ms) values (old.id, unixepoch() * 1000);
end;
create trigger subscription_receipts_removed after delete on subscriptions begin
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
    values (new.broadcast_id, coalesce(new.push_service_id, iif(new.attempts = 0, -1, 0)), 1)
    on conflict (broadcast_id, push_service_id, shard) do update set rows = rows + 1;
end;
create trigger retry_dropped after delete on retries begin
  update waiting_rows set rows = rows - 1 where broadcast_id = old.broadcast_id
    and push_service_id = coalesce(old.push_service_id, iif(old.attempts = 0, -1, 0));
end;
create trigger retry_waits_otherwise after update of push_service_id, attempts on retries
  when old.push_service_id is not new.push_service_id or (old.attempts = 0) <> (new.attempts = 0)
begin
  update waiting_rows set rows = rows - 1 where broadcast_id = old.broadcast_id
    and push_service_id = coalesce(old.push_service_id, iif(old.attempts = 0, -1, 0));
  insert into waiting_rows (broadcast_id, push_service_id, rows)
    values (new.broadcast_id, coalesce(new.push_service_id, iif(new.attempts = 0, -1, 0)), 1)
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
create trigger webhook_broadcast_done after update of state on broadcasts
  when new.state in ('done', 'cancelled') and old.state not in ('done', 'cancelled')
    and exists (select 1 from webhook_watch where seen_at_ms > unixepoch() * 1000 - 604800000)
begin
  insert into webhook_events (type, at_ms, broadcast_id)
    values ('broadcast.done', coalesce(new.finished_at_ms, unixepoch() * 1000), new.id);
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
