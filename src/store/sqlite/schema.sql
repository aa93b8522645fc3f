-- All tables of the store in SQLite, with their indexes and triggers. Tables and columns have the names that they have in
-- ../postgres/schema.sql, which says what a thing is where a comment is missing here. Truth is 0 or 1, JSON is text. What PostgreSQL
-- counts in shards has the shard 0 here: one transaction writes at a time.

-- VAPID keys -------------------------------------------------------------------------------------------------------------------

create table vapid_keys (
  id integer primary key,
  public_key text not null unique,
  -- null: a key that subscriptions name and that is not one of ours
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
  -- whose it is, as the application says
  user_name text check (length(cast(user_name as blob)) between 1 and 128),
  -- what the browser says of who reads
  language text,
  time_zone text,
  -- the choices that were made in the browser: {"news":false}; null: none
  channels text
) strict;
create index subscriptions_by_user on subscriptions (user_name) where user_name is not null;
-- by eight bytes of the browser's public key, which are as good as all of it, and no secret
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
  -- since 1970, UTC
  day integer not null,
  shard integer not null default 0,
  gained integer not null default 0,
  lost integer not null default 0,
  primary key (day, shard)
) strict, without rowid;

-- subscriptions that were deleted as gone, until an application has taken note of them
create table ended_subscriptions (
  id integer primary key,
  endpoint text not null,
  user_name text,
  gone_at_ms integer not null
) strict;
create index ended_subscriptions_by_time on ended_subscriptions (gone_at_ms);
create index ended_subscriptions_by_user on ended_subscriptions (user_name) where user_name is not null;

-- subscriptions that have left the store, for as long as an open broadcast may come to their places
create table removals (
  id integer primary key autoincrement,
  subscription_id integer not null,
  at_ms integer not null
) strict;
create index removals_by_subscription on removals (subscription_id);

-- links that let one browser subscribe as a person, by the hash of their token
create table invitations (
  token_hash blob primary key check (length(token_hash) = 32),
  user_name text not null,
  expires_at_ms integer not null,
  -- the hash of the endpoint that was stored with it; null: it can be used
  consumed_by text
) strict;

-- if any public host is admitted: push services with subscriptions that are neither known nor listed
create table unlisted_push_services (
  origin text primary key,
  added_at_ms integer not null,
  -- null: it has a place
  dormant_since_ms integer
) strict, without rowid;

-- People and channels ----------------------------------------------------------------------------------------------------------

-- what the application says of a person; it holds before what their subscriptions say
create table people (
  user_name text primary key,
  -- {"name":"Ada","points":3}
  data text not null,
  language text,
  time_zone text,
  channels text,
  updated_at_ms integer not null
) strict;

-- what readers switch on and off
create table channels (
  name text primary key,
  title text not null,
  -- by language: {"de":"Nachrichten"}
  titles text not null,
  is_on_by_default integer not null
) strict, without rowid;

-- broadcasts with a frequency cap that have reached a person, or are about to; the broadcast may be deleted before
create table person_reaches (
  -- user:…, or subscription:… if it has no user
  person text not null,
  broadcast_id integer not null,
  -- when a push service accepted the first message, or when it was reserved
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

-- a list of subscriptions that need not be stored
create table audience_members (
  audience_id integer not null references audiences (id) on delete cascade,
  position integer not null,
  endpoint text not null,
  p256dh blob not null check (length(p256dh) = 65),
  auth blob not null check (length(auth) = 16),
  primary key (audience_id, position)
) strict, without rowid;
create unique index audience_members_by_endpoint on audience_members (audience_id, endpoint);

-- an audience as sets of ids of subscriptions, one for each slice of its broadcast
create table audience_sets (
  audience_id integer not null references audiences (id) on delete cascade,
  number integer not null,
  -- PostgreSQL's; here null
  in_partition integer,
  first_id integer not null,
  last_id integer not null,
  rows integer not null,
  -- see ../id-set.ts
  ids blob not null,
  -- the text that they get, and the time zone of their readers; null: the message's own text, the broadcast's own zone
  language text,
  time_zone text,
  -- who was left out, and why (leftOutCodes in ../split-audience.ts); there is no slice for them
  is_inactive integer not null default 0,
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
  -- null: all subscriptions
  audience_id integer references audiences (id) on delete set null,
  -- the only person that it is for
  user_name text,
  -- names of the actions of a message that asks for receipts, a JSON array; null: it does not
  receipt_actions text,
  -- what its positions are: those of a list, or ids of subscriptions
  rows_in text not null check (rows_in in ('list', 'all')),
  -- how many recipients
  audience integer not null,
  created_at_ms integer not null,
  start_at_ms integer not null,
  expires_at_ms integer not null,
  finished_at_ms integer,
  -- how often a person is reached at most, such as 3/day; null: no cap
  per_person text,
  -- null: what came of each row is still known
  attempts_dropped_at_ms integer,
  -- high: workers take its slices first. null: normal
  priority text,
  -- removals up to this one are not in its audience
  removals_after integer not null,
  -- JSON: "all", the expression of user and tags, or a list such as {"list":"ids"}; null: not known
  asked_audience text,
  -- JSON: who made it; null: not known
  created_by text,
  -- options that are not given are null
  channel text,
  local_time text,
  if_time_passed text,
  quiet_hours text,
  time_zone text,
  has_texts integer not null default 0,
  has_placeholders integer not null default 0,
  -- left out is who has clicked on none of so many last broadcasts shown to them; null: nobody
  skip_inactive integer,
  -- how many were left out
  inactive integer not null default 0
) strict;
create index broadcasts_running on broadcasts (id) where state = 'running';
create index broadcasts_open on broadcasts (id) where state in ('running', 'paused');
-- Open broadcasts are counted by their state in it alone. Its condition is none that other queries have: they go on with the
-- indexes that they are made for.
create index broadcasts_by_state on broadcasts (state, start_at_ms) where state = 'running' or state = 'paused';
create index broadcasts_by_user on broadcasts (user_name) where user_name is not null;
create index broadcasts_by_audience on broadcasts (audience_id) where audience_id is not null;
-- retention looks for those that were over before a time
create index broadcasts_by_end on broadcasts (coalesce(finished_at_ms, expires_at_ms), id)
  where state in ('done', 'cancelled');
create index broadcasts_by_removals on broadcasts (removals_after) where state in ('running', 'paused');

-- what is sent instead of the payload to those who read a language
create table broadcast_texts (
  broadcast_id integer not null references broadcasts (id) on delete cascade,
  language text not null,
  payload blob not null,
  -- how many get it
  recipients integer not null default 0,
  primary key (broadcast_id, language)
) strict;

-- broadcasts whose audience is being looked for; their state is paused until it is complete
create table preparations (
  broadcast_id integer primary key references broadcasts (id) on delete cascade,
  -- JSON
  expression text not null,
  slice_rows integer not null,
  -- ids up to here have been looked at
  done_through integer not null default 0,
  -- the highest id when the broadcast was made
  through_id integer not null,
  -- how many ids are looked at next
  width integer not null,
  next_number integer not null default 0,
  is_paused integer not null default 0,
  token text,
  lease_until_ms integer not null default 0,
  -- JSON: by what the audience is split; null: it is not
  split text
) strict;

-- broadcasts that recur; audience and message are JSON
create table schedules (
  id integer primary key autoincrement,
  cron text not null,
  timezone text not null,
  audience text not null,
  -- the only person that it is for
  user_name text,
  message text not null,
  ttl_seconds integer,
  urgency text,
  topic text,
  receipts integer not null,
  created_at_ms integer not null,
  next_at_ms integer not null,
  -- a process makes a broadcast of it
  lease_until_ms integer not null default 0,
  last_broadcast_id integer,
  per_person text,
  priority text,
  -- null: it is not paused
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

-- What can be leased of running broadcasts, and when, so that nobody looks through all of them. The times are never too
-- late; whoever finds that one is too early corrects it.
create table work (
  broadcast_id integer primary key references broadcasts (id) on delete cascade,
  is_high integer not null,
  -- slices from this number on may be free; null: no such slice
  next_slice integer,
  -- before this, no slice with a lower number is free; null: there is none
  slices_at_ms integer,
  -- before this, no retry is due; null: there is none
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

-- While a worker has leased a row, token says who and due_at_ms until when. A row whose push service is suspended has its id,
-- and a random place among those to be drawn as probes, below 0 for a row that was accepted before.
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
  -- how often the row was refused in a row, by which push service, and since when
  refusals integer not null default 0,
  refused_by integer,
  refused_since_ms integer,
  -- see audience_sets
  language text,
  time_zone text,
  -- how often it may have arrived and had no answer
  doubts integer not null default 0,
  primary key (broadcast_id, position)
) strict, without rowid;
create index retries_by_due on retries (broadcast_id, due_at_ms);
create index retries_by_token on retries (broadcast_id, token) where token is not null;
-- rows of suspended push services are found without asking every broadcast
create index retries_suspended on retries (push_service_id, broadcast_id, draw_order) where push_service_id is not null;

-- stored retries, counted: a page that shows them is read every second, and a million may be stored
create table waiting_rows (
  broadcast_id integer not null references broadcasts (id) on delete cascade,
  -- 0: it is tried again; -1: it was not tried yet; otherwise its push service, which is suspended
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

-- one row if the store does not send by itself
create table sending_pause (
  id integer primary key check (id = 1),
  since_ms integer not null,
  reason text not null check (reason in ('restored', 'asked')),
  -- that were paused with it, a JSON array
  broadcast_ids text not null
) strict;

-- requests for single messages that have an idempotency key, and what was answered; null: not yet, or never
create table message_requests (
  key text primary key,
  content_hash blob not null check (length(content_hash) = 32),
  -- by which a call that is repeated knows its own row
  claim text not null default '',
  at_ms integer not null,
  answer text
) strict, without rowid;
create index message_requests_by_time on message_requests (at_ms);

-- Results of rows --------------------------------------------------------------------------------------------------------------

-- outcomes of a broadcast
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

-- outcomes over time, of all messages together (broadcast_id 0) and by broadcast
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

-- rows of a broadcast whose subscription was removed before their turn
create table removed_rows (
  broadcast_id integer not null references broadcasts (id) on delete cascade,
  shard integer not null default 0,
  rows integer not null,
  primary key (broadcast_id, shard)
) strict, without rowid;

-- what push services answered, or why nothing was sent, each once for its broadcast
create table answers (
  broadcast_id integer not null references broadcasts (id) on delete cascade,
  -- made of the columns that follow
  id integer not null,
  origin text not null,
  outcome text not null,
  status integer,
  reason text,
  detail text,
  primary key (broadcast_id, id)
) strict, without rowid;

-- how often, but for acceptances
create table answer_counts (
  broadcast_id integer not null references broadcasts (id) on delete cascade,
  answer_id integer not null,
  shard integer not null default 0,
  rows integer not null,
  last_at_ms integer not null,
  primary key (broadcast_id, answer_id, shard)
) strict, without rowid;

-- rows of one commit with the same answer
create table attempt_sets (
  id integer primary key,
  broadcast_id integer not null references broadcasts (id) on delete cascade,
  at_ms integer not null,
  -- when the first of them was sent
  since_ms integer not null,
  outcome text not null,
  attempt integer not null,
  answer_id integer not null,
  first_id integer not null,
  last_id integer not null,
  rows integer not null,
  -- subscriptions: see ../id-set.ts
  ids blob not null
) strict;
create index attempt_sets_by_outcome on attempt_sets (broadcast_id, outcome);
create index attempt_sets_by_member on attempt_sets (broadcast_id, first_id, last_id);

-- broadcasts whose receipts are counted, or are still to be forgotten
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
  -- empty: on no action
  action text not null,
  shard integer not null default 0,
  count integer not null,
  primary key (broadcast_id, origin, event, action, shard)
) strict, without rowid;

-- Push services ----------------------------------------------------------------------------------------------------------------

-- what is known of a push service's answers to messages that one key signed
create table push_services (
  id integer primary key,
  origin text not null,
  vapid_public_key text not null,
  -- refusals of the token or key since it accepted a message
  refusals_in_row integer not null default 0,
  -- so many of them suspend it
  refusals_to_suspend integer not null,
  -- null: messages are sent
  suspended_since_ms integer,
  -- while it is suspended: when rows are drawn as probes next, and how often that was done
  probe_at_ms integer not null default 0,
  draws integer not null default 0,
  -- until when it has asked senders to wait
  wait_until_ms integer not null default 0,
  -- when it last refused our token or key, when it first accepted a message after that, and when it last refused a
  -- subscription that it had accepted a message for
  refused_at_ms integer not null default 0,
  accepted_at_ms integer not null default 0,
  known_refused_at_ms integer not null default 0,
  unique (origin, vapid_public_key)
) strict;

-- some of the subscriptions that it accepted a message for, the newest in each slot
create table accepted_subscriptions (
  push_service_id integer not null references push_services (id) on delete cascade,
  slot integer not null,
  subscription_id integer not null,
  primary key (push_service_id, slot)
) strict, without rowid;

-- what is left of the rate limit of a push service, and until when rows that are rate limited take all of it
create table rate_limits (
  origin text primary key,
  permits real not null,
  refilled_at_ms integer not null,
  queued_until_ms integer not null,
  sent_at_ms integer not null
) strict, without rowid;

-- subscriptions that their push service called gone
create table gone_marks (
  subscription_id integer primary key references subscriptions (id) on delete cascade,
  origin text not null,
  -- the id in answer_windows
  answer_window integer not null,
  marked_at_ms integer not null,
  -- as the subscription has it; one that was renewed has another
  updated_at_ms integer not null,
  -- 1: an operator decides
  is_held integer not null default 0
) strict;
create index gone_marks_by_origin on gone_marks (origin, is_held, answer_window);
create index gone_marks_held on gone_marks (origin, marked_at_ms) where is_held = true;

-- marks that wait for an operator, counted: there may be one for each subscription
create table held_marks (
  origin text not null,
  shard integer not null default 0,
  subscriptions integer not null,
  primary key (origin, shard)
) strict, without rowid;

-- the recent answers of an origin, by which marks are judged: see ../deletion-guard.ts
create table answer_windows (
  id integer primary key,
  origin text not null,
  -- its place among the windows of the origin; null: a page that is not judged yet
  number integer,
  answers integer not null,
  accepted integer not null,
  -- 1: of pages of broadcasts
  is_of_pages integer not null,
  -- when the first message was sent that was accepted, and the last one to a subscription that is gone
  from_ms integer not null default 0,
  marks_ms integer not null default 0
) strict;
create index answer_windows_by_origin on answer_windows (origin, number);

-- answers of an origin beside which nothing was gone, until its marks are judged
create table uncounted_answers (
  origin text not null,
  shard integer not null default 0,
  answers integer not null,
  accepted integer not null,
  primary key (origin, shard)
) strict, without rowid;

-- locked by the transaction that judges the marks of an origin
create table deletion_guards (
  origin text primary key,
  -- subscriptions deleted while the origin accepted almost nothing, since they were few
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
  -- 1: its broadcast has been over for long (see ../alarms.ts)
  is_past integer not null default 0,
  primary key (broadcast_id, origin, reason)
) strict, without rowid;
create index alarms_standing on alarms (origin, reason) where is_past = 0;

-- alarms that operators know of, until their condition ends or gets worse
create table acknowledgements (
  alarm text primary key,
  operator text not null,
  note text not null,
  at_ms integer not null,
  -- what the alarm said then
  count integer not null,
  broadcasts integer not null
) strict, without rowid;

-- when somebody last asked for deliveries to a webhook; events are stored for a week from then on
create table webhook_watch (
  id integer primary key check (id = 1),
  seen_at_ms integer not null,
  -- events that the webhook did not take in time
  dropped integer not null default 0
) strict;
create table webhook_events (
  id text primary key default (lower(hex(randomblob(16)))),
  type text not null,
  at_ms integer not null,
  -- while somebody posts it, until when
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

-- who is signed in to the console, by a hash of what the cookie has
create table console_sessions (
  name_hash blob primary key check (length(name_hash) = 32),
  operator_id integer not null references operators (id) on delete cascade,
  ends_at_ms integer not null
) strict, without rowid;

-- the broadcasts of operators who see their own alone
create table operator_broadcasts (
  broadcast_id integer primary key references broadcasts (id) on delete cascade,
  operator_id integer not null references operators (id) on delete cascade
) strict;
create index operator_broadcasts_by_operator on operator_broadcasts (operator_id, broadcast_id);

-- what operators have changed; status is that of the answer
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
-- another user or tag does not renew a subscription that is marked gone
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
