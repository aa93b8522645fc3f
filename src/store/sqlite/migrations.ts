// How the database came to its present form. Numbered by position from 1 (SQLite's `user_version`); an entry
// that has been released is never edited: a change is a new entry. `normalize_endpoint` is a function of ours.

export const migrations: readonly string[] = [
  `
  create table vapid_keys (
    id integer primary key,
    public_key text not null unique
  ) strict;

  create table subscriptions (
    id integer primary key autoincrement,
    endpoint text not null unique check (length(endpoint) between 1 and 4096),
    p256dh blob not null check (length(p256dh) = 65),
    auth blob not null check (length(auth) = 16),
    vapid_key_id integer not null references vapid_keys (id),
    created_at_ms integer not null,
    updated_at_ms integer not null
  ) strict;

  -- narrow, so that counting a million rows reads ten megabytes and not the table
  create index subscriptions_by_vapid_key on subscriptions (vapid_key_id);

  create table users (
    id integer primary key,
    name text not null,
    email text not null
  ) strict;

  insert into users (id, name, email) values (1, 'Ada Example', 'ada@example.org');
  `,

  `
  create table audiences (
    id integer primary key autoincrement,
    members integer not null default 0,
    created_at_ms integer not null
  ) strict;

  -- either a stored subscription by its id, or one that stands here itself
  create table audience_members (
    audience_id integer not null references audiences (id) on delete cascade,
    position integer not null,
    subscription_id integer,
    endpoint text,
    p256dh blob check (length(p256dh) = 65),
    auth blob check (length(auth) = 16),
    primary key (audience_id, position),
    check ((subscription_id is null) = (endpoint is not null and p256dh is not null and auth is not null))
  ) strict, without rowid;

  create unique index audience_members_by_id on audience_members (audience_id, subscription_id)
    where subscription_id is not null;
  create unique index audience_members_by_endpoint on audience_members (audience_id, endpoint)
    where endpoint is not null;

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
    has_list integer not null,
    audience integer not null,
    created_at_ms integer not null,
    start_at_ms integer not null,
    expires_at_ms integer not null,
    finished_at_ms integer,
    -- rows that nobody had read when the time was over
    expired_unread integer not null default 0,
    logged_accepted integer not null default 0,
    logged_others integer not null default 0
  ) strict;

  create index broadcasts_running on broadcasts (id) where state = 'running';

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

  -- while a worker holds a row, token says who and due_at_ms until when
  create table retries (
    broadcast_id integer not null references broadcasts (id) on delete cascade,
    position integer not null,
    due_at_ms integer not null,
    attempts integer not null,
    deferrals integer not null,
    expires_at_ms integer not null,
    token text,
    primary key (broadcast_id, position)
  ) strict, without rowid;

  create index retries_by_due on retries (broadcast_id, due_at_ms);
  create index retries_by_token on retries (broadcast_id, token) where token is not null;

  create table broadcast_origins (
    broadcast_id integer not null references broadcasts (id) on delete cascade,
    origin text not null,
    attempts integer not null,
    accepted integer not null,
    gone integer not null,
    rejected integer not null,
    expired integer not null,
    exhausted integer not null,
    primary key (broadcast_id, origin)
  ) strict, without rowid;

  create table alarms (
    broadcast_id integer not null references broadcasts (id) on delete cascade,
    origin text not null,
    reason text not null,
    detail text not null,
    first_at_ms integer not null,
    rows integer not null,
    primary key (broadcast_id, origin, reason)
  ) strict, without rowid;

  create table attempts (
    id integer primary key,
    broadcast_id integer not null references broadcasts (id) on delete cascade,
    subscription_id integer,
    at_ms integer not null,
    origin text not null,
    attempt integer not null,
    outcome text not null,
    status integer,
    reason text,
    detail text
  ) strict;

  create index attempts_by_broadcast on attempts (broadcast_id);
  create index attempts_by_subscription on attempts (subscription_id) where subscription_id is not null;
  `,

  `
  -- a subscription that its push service called gone
  create table gone_marks (
    subscription_id integer primary key references subscriptions (id) on delete cascade,
    origin text not null,
    -- of answer_windows: where its answer was counted
    answer_window integer not null,
    marked_at_ms integer not null,
    -- 1: an operator decides
    is_held integer not null default 0
  ) strict;

  create index gone_marks_by_origin on gone_marks (origin, is_held, answer_window);

  create trigger subscription_renewed after update on subscriptions begin
    delete from gone_marks where subscription_id = new.id;
  end;

  -- the recent answers of an origin, to all workers and single sends together
  create table answer_windows (
    origin text not null,
    number integer not null,
    answers integer not null,
    accepted integer not null,
    primary key (origin, number)
  ) strict, without rowid;

  -- subscriptions deleted while their origin accepted almost nothing, since they were few
  create table few_deletions (
    origin text primary key,
    rows integer not null
  ) strict, without rowid;
  `,

  `
  -- what is known of a push service's answers to messages that one key signed
  create table push_services (
    id integer primary key,
    origin text not null,
    vapid_public_key text not null,
    -- refusals of the token or key since it accepted a message
    refusals_in_row integer not null default 0,
    -- so many of them begin a hold
    refusals_to_hold integer not null,
    -- null: messages are sent
    held_since_ms integer,
    -- during a hold: when rows are drawn as probes next, and how often that was done
    probe_at_ms integer not null default 0,
    draws integer not null default 0,
    unique (origin, vapid_public_key)
  ) strict;

  -- some of the subscriptions that it accepted a message for, the newest in each slot
  create table accepted_subscriptions (
    push_service_id integer not null references push_services (id) on delete cascade,
    slot integer not null,
    subscription_id integer not null,
    primary key (push_service_id, slot)
  ) strict, without rowid;

  -- set while the row is held back, which is due only at the end of its time: the push service that is held, and the
  -- row's random place among those to be drawn as probes, below 0 for a row that was accepted before
  alter table retries add column push_service_id integer references push_services (id);
  alter table retries add column draw_order integer;
  create index retries_held_back on retries (broadcast_id, push_service_id, draw_order)
    where push_service_id is not null;
  `,

  `
  -- one row per endpoint: what differed in scheme, host and port only is merged. As after a second registration, the
  -- oldest row stays, with the newest keys.
  create temp table respelled as
    select id, normalize_endpoint(endpoint) as endpoint from subscriptions
    where endpoint <> normalize_endpoint(endpoint);

  create temp table merged as
    select s.id, n.endpoint,
           min(s.id) over (partition by n.endpoint) as kept_id,
           first_value(s.id) over (partition by n.endpoint order by s.updated_at_ms desc, s.id desc) as newest_id
    from (
      select id, endpoint from respelled
      union
      select id, endpoint from subscriptions where endpoint in (select endpoint from respelled)
    ) n join subscriptions s on s.id = n.id;

  create temp table kept as
    select m.id, m.endpoint, s.p256dh, s.auth, s.vapid_key_id, s.updated_at_ms
    from merged m join subscriptions s on s.id = m.newest_id
    where m.id = m.kept_id;

  delete from temp.merged where id = kept_id;

  -- a list that has both loses one of them, which counts as removed
  update or ignore audience_members
    set subscription_id = (select kept_id from merged where id = subscription_id)
    where subscription_id in (select id from merged);
  update attempts
    set subscription_id = (select kept_id from merged where id = subscription_id)
    where subscription_id in (select id from merged);
  update accepted_subscriptions
    set subscription_id = (select kept_id from merged where id = subscription_id)
    where subscription_id in (select id from merged);

  delete from subscriptions where id in (select id from merged);
  update subscriptions set
    endpoint = k.endpoint, p256dh = k.p256dh, auth = k.auth,
    vapid_key_id = k.vapid_key_id, updated_at_ms = k.updated_at_ms
    from kept k where k.id = subscriptions.id;

  drop table temp.respelled;
  drop table temp.merged;
  drop table temp.kept;
  `,

  `
  -- subscriptions that were deleted as gone, until an application has taken note of them
  create table ended_subscriptions (
    id integer primary key,
    endpoint text not null,
    gone_at_ms integer not null
  ) strict;
  create index ended_subscriptions_by_time on ended_subscriptions (gone_at_ms);
  create trigger subscription_ended before delete on subscriptions
    when exists (select 1 from gone_marks where subscription_id = old.id)
  begin
    insert into ended_subscriptions (id, endpoint, gone_at_ms)
      select old.id, old.endpoint, marked_at_ms from gone_marks where subscription_id = old.id;
    delete from ended_subscriptions
      where gone_at_ms < (select max(gone_at_ms) from ended_subscriptions) - 2592000000; -- 30 days
  end;
  `,

  `
  -- null: a key that subscriptions name and that is not one of ours
  alter table vapid_keys add column state text check (state in ('next', 'current', 'previous', 'retired'));
  create unique index vapid_keys_offered on vapid_keys (state) where state in ('next', 'current');
  `,

  `
  -- counted where they change, so that no reader counts a million rows
  alter table vapid_keys add column subscriptions integer not null default 0;
  update vapid_keys set subscriptions = (select count(*) from subscriptions where vapid_key_id = vapid_keys.id);
  create table subscription_days (
    -- since 1970, UTC
    day integer primary key,
    gained integer not null default 0,
    lost integer not null default 0
  ) strict;
  insert into subscription_days (day, gained)
    select created_at_ms / 86400000, count(*) from subscriptions group by 1;
  create trigger subscription_gained after insert on subscriptions begin
    update vapid_keys set subscriptions = subscriptions + 1 where id = new.vapid_key_id;
    insert into subscription_days (day, gained) values (new.created_at_ms / 86400000, 1)
      on conflict (day) do update set gained = gained + 1;
  end;
  create trigger subscription_lost after delete on subscriptions begin
    update vapid_keys set subscriptions = subscriptions - 1 where id = old.vapid_key_id;
    insert into subscription_days (day, lost) values (unixepoch() / 86400, 1)
      on conflict (day) do update set lost = lost + 1;
  end;
  create trigger subscription_key_changed after update of vapid_key_id on subscriptions
    when old.vapid_key_id <> new.vapid_key_id
  begin
    update vapid_keys set subscriptions = subscriptions - 1 where id = old.vapid_key_id;
    update vapid_keys set subscriptions = subscriptions + 1 where id = new.vapid_key_id;
  end;

  -- what came of messages over time, all together and by broadcast
  create table outcome_intervals (
    width_ms integer not null,
    start_ms integer not null,
    push_service text not null,
    attempts integer not null,
    accepted integer not null,
    gone integer not null,
    rejected integer not null,
    expired integer not null,
    exhausted integer not null,
    primary key (width_ms, start_ms, push_service)
  ) strict, without rowid;
  create table broadcast_intervals (
    broadcast_id integer not null references broadcasts (id) on delete cascade,
    start_ms integer not null,
    push_service text not null,
    width_ms integer not null,
    attempts integer not null,
    accepted integer not null,
    gone integer not null,
    rejected integer not null,
    expired integer not null,
    exhausted integer not null,
    primary key (broadcast_id, start_ms, push_service)
  ) strict, without rowid;
  `,

  `
  -- names of the actions of a message that asks for receipts, a JSON array; null: it does not
  alter table broadcasts add column receipt_actions text;

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

  create table receipt_counts (
    broadcast_id integer not null references broadcasts (id) on delete cascade,
    origin text not null,
    event text not null,
    -- empty: on no action
    action text not null,
    count integer not null,
    primary key (broadcast_id, origin, event, action)
  ) strict, without rowid;

  create trigger subscription_receipts_removed after delete on subscriptions begin
    delete from receipts where subscription_id = old.id
      and broadcast_id in (select broadcast_id from receipt_windows);
    end;
  `,

  `
  -- whose a subscription is, as the application says
  alter table subscriptions add column user text check (length(cast(user as blob)) between 1 and 128);
  create index subscriptions_by_user on subscriptions (user) where user is not null;

  create table subscription_tags (
    tag text not null check (length(cast(tag as blob)) between 1 and 64),
    subscription_id integer not null references subscriptions (id) on delete cascade,
    primary key (tag, subscription_id)
  ) strict, without rowid;
  create index subscription_tags_by_subscription on subscription_tags (subscription_id, tag);

  -- another user does not renew a subscription that is marked gone
  drop trigger subscription_renewed;
  create trigger subscription_renewed after update of updated_at_ms on subscriptions begin
    delete from gone_marks where subscription_id = new.id;
  end;

  -- the person that it is for alone
  alter table broadcasts add column user text;
  create index broadcasts_by_user on broadcasts (user) where user is not null;

  alter table ended_subscriptions add column user text;
  create index ended_subscriptions_by_user on ended_subscriptions (user) where user is not null;
  drop trigger subscription_ended;
  create trigger subscription_ended before delete on subscriptions
    when exists (select 1 from gone_marks where subscription_id = old.id)
  begin
    insert into ended_subscriptions (id, endpoint, gone_at_ms, user)
      select old.id, old.endpoint, marked_at_ms, old.user from gone_marks where subscription_id = old.id;
    delete from ended_subscriptions
      where gone_at_ms < (select max(gone_at_ms) from ended_subscriptions) - 2592000000; -- 30 days
  end;
  `,

  `
  create table operators (
    id integer primary key autoincrement,
    name text not null unique,
    role text not null check (role in ('full', 'read', 'metrics')),
    token_hash blob not null unique check (length(token_hash) = 32),
    created_at_ms integer not null
  ) strict;

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
  `,

  `
  create index broadcasts_open on broadcasts (id) where state in ('running', 'paused');
  `,

  `
  -- what is left of the rate limit of a push service, and until when rows that were put off take all of it
  create table rate_limits (
    origin text primary key,
    permits real not null,
    refilled_at_ms integer not null,
    queued_until_ms integer not null,
    sent_at_ms integer not null
  ) strict, without rowid;
  `,

  `
  -- who sends now, and what each knows of push services, as JSON
  create table senders (
    id text primary key,
    started_at_ms integer not null,
    seen_at_ms integer not null,
    report text not null
  ) strict, without rowid;
  `,

  `
  -- marks that wait for an operator, counted: there may be one for each subscription
  create table held_origins (
    origin text primary key,
    subscriptions integer not null,
    since_ms integer not null
  ) strict, without rowid;
  insert into held_origins (origin, subscriptions, since_ms)
    select origin, count(*), min(marked_at_ms) from gone_marks where is_held = 1 group by origin;
  create trigger gone_mark_held after update of is_held on gone_marks when new.is_held > old.is_held begin
    insert into held_origins (origin, subscriptions, since_ms) values (new.origin, 1, new.marked_at_ms)
      on conflict (origin) do update set
        subscriptions = subscriptions + 1, since_ms = min(since_ms, excluded.since_ms);
  end;
  create trigger gone_mark_not_held after update of is_held on gone_marks when new.is_held < old.is_held begin
    update held_origins set subscriptions = subscriptions - 1 where origin = old.origin;
    delete from held_origins where origin = old.origin and subscriptions = 0;
  end;
  create trigger held_mark_deleted after delete on gone_marks when old.is_held = 1 begin
    update held_origins set subscriptions = subscriptions - 1 where origin = old.origin;
    delete from held_origins where origin = old.origin and subscriptions = 0;
  end;
  `,

  `
  -- when somebody last asked for deliveries to a webhook; events are stored for a week from then on
  create table webhook_watch (
    id integer primary key check (id = 1),
    seen_at_ms integer not null
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
    user text,
    origin text,
    reason text,
    detail text,
    rows integer
  ) strict;
  create index webhook_events_by_due on webhook_events (due_at_ms);
  create index webhook_events_by_time on webhook_events (at_ms);
  create index webhook_events_by_user on webhook_events (user) where user is not null;

  create trigger webhook_subscription_gone after insert on ended_subscriptions
    when exists (select 1 from webhook_watch where seen_at_ms > unixepoch() * 1000 - 604800000)
  begin
    insert into webhook_events (type, at_ms, subscription_id, user)
      values ('subscription.gone', new.gone_at_ms, new.id, new.user);
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
  `,

  `
  -- broadcasts that recur; audience and message are JSON
  create table schedules (
    id integer primary key autoincrement,
    cron text not null,
    timezone text not null,
    audience text not null,
    -- the person that it is for alone
    user text,
    message text not null,
    ttl_seconds integer,
    urgency text,
    topic text,
    receipts integer not null,
    created_at_ms integer not null,
    next_at_ms integer not null,
    -- a process makes a broadcast of it
    lease_until_ms integer not null default 0,
    last_broadcast_id integer
  ) strict;
  create index schedules_by_time on schedules (next_at_ms);
  `,

  `
  -- stored retries, counted: a page that shows a broadcast is read every second, and a million rows may wait
  create table waiting_rows (
    broadcast_id integer not null references broadcasts (id) on delete cascade,
    -- 0: not held back
    push_service_id integer not null,
    rows integer not null,
    primary key (broadcast_id, push_service_id)
  ) strict, without rowid;
  insert into waiting_rows (broadcast_id, push_service_id, rows)
    select broadcast_id, coalesce(push_service_id, 0), count(*) from retries group by 1, 2;
  create trigger retry_added after insert on retries begin
    insert into waiting_rows (broadcast_id, push_service_id, rows)
      values (new.broadcast_id, coalesce(new.push_service_id, 0), 1)
      on conflict (broadcast_id, push_service_id) do update set rows = rows + 1;
  end;
  create trigger retry_dropped after delete on retries begin
    update waiting_rows set rows = rows - 1
      where broadcast_id = old.broadcast_id and push_service_id = coalesce(old.push_service_id, 0);
  end;
  create trigger retry_held_back after update of push_service_id on retries
    when old.push_service_id is not new.push_service_id
  begin
    update waiting_rows set rows = rows - 1
      where broadcast_id = old.broadcast_id and push_service_id = coalesce(old.push_service_id, 0);
    insert into waiting_rows (broadcast_id, push_service_id, rows)
      values (new.broadcast_id, coalesce(new.push_service_id, 0), 1)
      on conflict (broadcast_id, push_service_id) do update set rows = rows + 1;
  end;
  `,

  `
  -- how often a person is reached at most, such as 3/day; null: no cap
  alter table broadcasts add column per_person text;
  alter table schedules add column per_person text;
  alter table broadcast_origins add column capped integer not null default 0;
  alter table outcome_intervals add column capped integer not null default 0;
  alter table broadcast_intervals add column capped integer not null default 0;

  -- broadcasts with a cap that have reached a person, or are about to; they may be deleted before
  create table person_reaches (
    -- user:…, or subscription:… where it has no user
    person text not null,
    broadcast_id integer not null,
    -- when a push service accepted the first message, or when it was reserved
    at_ms integer not null,
    is_accepted integer not null,
    primary key (person, broadcast_id)
  ) strict, without rowid;
  create index person_reaches_by_time on person_reaches (at_ms);
  `,

  `
  -- until when it has asked senders to wait
  alter table push_services add column wait_until_ms integer not null default 0;
  `,

  `
  -- who is signed in to the console, by a hash of what the cookie has
  create table console_sessions (
    name_hash blob primary key check (length(name_hash) = 32),
    operator_id integer not null references operators (id) on delete cascade,
    ends_at_ms integer not null
  ) strict, without rowid;
  `,

  `
  -- one row where the store does not send by itself
  create table sending_pause (
    id integer primary key check (id = 1),
    since_ms integer not null,
    reason text not null check (reason in ('restored', 'asked')),
    -- that were paused with it, a JSON array
    broadcast_ids text not null
  ) strict;
  `,

  `
  -- when it last refused our token or key, when it first accepted a message after that, and when it last refused a
  -- subscription that it had accepted a message for
  alter table push_services add column refused_at_ms integer not null default 0;
  alter table push_services add column accepted_at_ms integer not null default 0;
  alter table push_services add column known_refused_at_ms integer not null default 0;
  update push_services set accepted_at_ms = 1
    where id in (select push_service_id from accepted_subscriptions);

  -- how often the row was refused in a row, by which push service, and since when
  alter table retries add column refusals integer not null default 0;
  alter table retries add column refused_by integer;
  alter table retries add column refused_since_ms integer;
  `,

  `
  -- requests for single messages that have an idempotency key, and what was answered; null: not yet, or never
  create table message_requests (
    key text primary key,
    content_hash blob not null check (length(content_hash) = 32),
    at_ms integer not null,
    answer text
  ) strict, without rowid;
  create index message_requests_by_time on message_requests (at_ms);
  `,

  `
  -- as PostgreSQL has them
  alter table schedules rename column user to user_name;
  alter table webhook_events rename column user to user_name;
  alter table ended_subscriptions rename column user to user_name;
  -- made by whoever adds a row, so that this can be repeated when its answer was lost
  alter table schedules add column creation text;
  update schedules set creation = hex(randomblob(16));
  create unique index schedules_by_creation on schedules (creation);
  alter table message_requests add column claim text not null default '';
  `,

  `
  -- what came of each row; of broadcasts that were there before, it is not known of every row
  drop table attempts;
  alter table broadcasts drop column logged_accepted;
  alter table broadcasts drop column logged_others;
  -- null: what came of each row is still known
  alter table broadcasts add column attempts_dropped_at_ms integer;
  update broadcasts set attempts_dropped_at_ms = unixepoch() * 1000;

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
    rows integer not null,
    last_at_ms integer not null,
    primary key (broadcast_id, answer_id)
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
  `,

  `
  -- high: workers take its slices first. null: normal
  alter table broadcasts add column priority text;
  alter table schedules add column priority text;

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
  insert into work (broadcast_id, is_high, slices_at_ms, retries_at_ms)
    select id, 0, start_at_ms, start_at_ms from broadcasts where state = 'running';
  create index work_slices_due on work (is_high, slices_at_ms);
  create index work_slices_next on work (is_high, next_slice) where next_slice is not null;
  create index work_retries_due on work (retries_at_ms);
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
  create trigger retry_noted after insert on retries begin
    update work set retries_at_ms = new.due_at_ms
      where broadcast_id = new.broadcast_id and (retries_at_ms is null or retries_at_ms > new.due_at_ms);
  end;
  create index broadcasts_by_expiry on broadcasts (expires_at_ms) where state = 'running';

  -- rows of suspended push services are found without asking every broadcast
  create index retries_suspended on retries (push_service_id, broadcast_id, draw_order) where push_service_id is not null;
  drop index retries_held_back;
  `,

  `
  -- an audience as sets of ids of subscriptions, one for each slice of its broadcast
  create table audience_sets (
    audience_id integer not null references audiences (id) on delete cascade,
    number integer not null,
    -- of PostgreSQL, that all of them are in; null: any
    in_partition integer,
    first_id integer not null,
    last_id integer not null,
    rows integer not null,
    -- see ../id-set.ts
    ids blob not null,
    primary key (audience_id, number)
  ) strict;
  create index audience_sets_by_member on audience_sets (audience_id, first_id, last_id);

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
    lease_until_ms integer not null default 0
  ) strict;

  -- processes of a former version know no sets, and would send to all subscriptions between the ids of a slice
  create trigger slice_leased before update of token on slices
    when new.token is not old.token and new.token not like 'sets:%'
      and exists (select 1 from broadcasts
                  where id = new.broadcast_id and audience_id is not null and has_list = 0)
  begin
    select raise(abort, 'The broadcast needs a newer version of Deskbell.');
  end;
  `,

  `
  -- retention looks for those that were over before a time
  create index broadcasts_by_end on broadcasts (coalesce(finished_at_ms, expires_at_ms), id)
    where state in ('done', 'cancelled');
  create index broadcasts_by_audience on broadcasts (audience_id) where audience_id is not null;
  `,

  `
  -- subscriptions that have left the store, for as long as an open broadcast may come to their places
  create table removals (
    id integer primary key autoincrement,
    subscription_id integer not null,
    at_ms integer not null
  ) strict;
  create index removals_by_subscription on removals (subscription_id);
  create trigger subscription_removed after delete on subscriptions begin
    insert into removals (subscription_id, at_ms) values (old.id, unixepoch() * 1000);
  end;
  -- rows of a broadcast whose subscription was removed before their turn; sums over shards
  create table removed_rows (
    broadcast_id integer not null references broadcasts (id) on delete cascade,
    -- of PostgreSQL; here 0
    shard integer not null,
    rows integer not null,
    primary key (broadcast_id, shard)
  ) strict, without rowid;
  -- what was removed up to this one is not in its audience; null: of a former version, which counted no removals
  alter table broadcasts add column removals_after integer;
  create index broadcasts_by_removals on broadcasts (removals_after) where state in ('running', 'paused');
  drop index broadcasts_by_expiry;
  `,

  `
  -- of links that let one browser subscribe as a person, by the hash of their token
  create table invitations (
    token_hash blob primary key check (length(token_hash) = 32),
    user_name text not null,
    expires_at_ms integer not null,
    -- the hash of the endpoint that was stored with it; null: it can be used
    consumed_by text
  ) strict;
  `,

  `
  -- the role send
  alter table operators add column permits text not null default 'metrics'
    check (permits in ('full', 'read', 'send', 'metrics'));
  update operators set permits = role;
  alter table operators drop column role;
  alter table operators rename column permits to role;
  -- the broadcasts of operators who see their own alone
  create table operator_broadcasts (
    broadcast_id integer primary key references broadcasts (id) on delete cascade,
    operator_id integer not null references operators (id) on delete cascade
  ) strict;
  create index operator_broadcasts_by_operator on operator_broadcasts (operator_id, broadcast_id);
  `,

  `
  -- JSON: "all", or the expression of user and tags; null: a list, or of a former version
  alter table broadcasts add column asked_audience text;
  `,

  `
  -- null: it is not paused
  alter table schedules add column paused_at_ms integer;
  -- lists of one operator or one kind of action, newest first
  create index audit_by_operator on audit (operator, at_ms, id);
  create index audit_by_action on audit (action, at_ms, id);
  `,

  `
  -- JSON: who made it; null: of a former version. What was asked for may be a list now, such as {"list":"ids"}
  alter table broadcasts add column created_by text;
  `,

  `
  -- subscriptions of one push service, in the order of ids: by its origin with a slash
  create index subscriptions_by_push_service on subscriptions (substr(endpoint, 1, instr(substr(endpoint, 9), '/') + 8));
  `,

  `
  -- of the stored retries that are not held back (0), those that were not tried yet are counted apart (-1)
  drop trigger retry_added;
  drop trigger retry_dropped;
  drop trigger retry_held_back;
  delete from waiting_rows;
  insert into waiting_rows (broadcast_id, push_service_id, rows)
    select broadcast_id, coalesce(push_service_id, iif(attempts = 0, -1, 0)), count(*) from retries group by 1, 2;
  create trigger retry_added after insert on retries begin
    insert into waiting_rows (broadcast_id, push_service_id, rows)
      values (new.broadcast_id, coalesce(new.push_service_id, iif(new.attempts = 0, -1, 0)), 1)
      on conflict (broadcast_id, push_service_id) do update set rows = rows + 1;
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
      on conflict (broadcast_id, push_service_id) do update set rows = rows + 1;
  end;
  -- Open broadcasts are counted by their state in it alone. Its condition is none that other queries have: they go on with the
  -- indexes that they are made for.
  create index broadcasts_by_state on broadcasts (state, start_at_ms) where state = 'running' or state = 'paused';
  `,

  `
  -- 1: its broadcast has been over for long (see ../alarms.ts)
  alter table alarms add column is_past integer not null default 0;
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
  -- events that the webhook did not take in time
  alter table webhook_watch add column dropped integer not null default 0;
  `,

  `
  -- what browsers say of who reads, and the choices that were made there: {"news":false}; null: none
  alter table subscriptions add column language text;
  alter table subscriptions add column time_zone text;
  alter table subscriptions add column channels text;
  -- the same of persons, as the application says; it holds before that of their subscriptions
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
  `,

  `
  -- broadcasts that differ by reader; the columns of the options are null where they are not given
  alter table broadcasts add column channel text;
  alter table broadcasts add column local_time text;
  alter table broadcasts add column if_time_passed text;
  alter table broadcasts add column quiet_hours text;
  alter table broadcasts add column time_zone text;
  alter table broadcasts add column has_texts integer not null default 0;
  alter table broadcasts add column has_placeholders integer not null default 0;
  alter table schedules add column channel text;
  alter table schedules add column local_time text;
  alter table schedules add column if_time_passed text;
  alter table schedules add column quiet_hours text;
  alter table schedules add column time_zone text;
  -- what is sent instead of the payload to those who read a language
  create table broadcast_texts (
    broadcast_id integer not null references broadcasts (id) on delete cascade,
    language text not null,
    payload blob not null,
    -- how many get it
    recipients integer not null default 0,
    primary key (broadcast_id, language)
  ) strict;
  -- JSON: by what the audience is split; null: it is not
  alter table preparations add column split text;
  -- of the rows: the text that they get, and the time zone of their readers. null: the message's own text, the broadcast's own zone
  alter table audience_sets add column language text;
  alter table audience_sets add column time_zone text;
  alter table retries add column language text;
  alter table retries add column time_zone text;
  -- processes of a former version know neither, and would send the same to all at once
  create trigger slice_differs before update of token on slices
    when new.token is not old.token and new.token not like 'sets:readers:%'
      and exists (select 1 from broadcasts where id = new.broadcast_id
                  and (has_texts = 1 or has_placeholders = 1 or local_time is not null or quiet_hours is not null))
  begin
    select raise(abort, 'The broadcast needs a newer version of Deskbell.');
  end;
  create trigger preparation_split before update of token on preparations
    when new.token is not old.token and new.token not like 'readers:%' and new.split is not null
  begin
    select raise(abort, 'The broadcast needs a newer version of Deskbell.');
  end;
  `,

  `
  -- where any public host is admitted: push services with subscriptions that are neither known nor listed
  create table unlisted_push_services (
    origin text primary key,
    added_at_ms integer not null
  ) strict, without rowid;
  `,

  `
  -- left out is who has clicked on none of so many last broadcasts shown to them; null: nobody
  alter table broadcasts add column skip_inactive integer;
  -- how many were left out
  alter table broadcasts add column inactive integer not null default 0;
  alter table schedules add column skip_inactive integer;
  -- 1: who was left out; there is no slice for them
  alter table audience_sets add column is_inactive integer not null default 0;
  create index receipts_by_subscription on receipts (subscription_id, event, broadcast_id);
  -- processes of a former version would leave out nobody
  create trigger preparation_skips before update of token on preparations
    when new.token is not old.token and new.token not like 'readers:inactive:%' and new.split like '%"skipInactive":%'
  begin
    select raise(abort, 'The broadcast needs a newer version of Deskbell.');
  end;
  `,

  `
  -- rows that may have arrived, and have no answer: how often that was so, and those for which it stays so
  alter table retries add column doubts integer not null default 0;
  alter table broadcast_origins add column doubtful integer not null default 0;
  alter table outcome_intervals add column doubtful integer not null default 0;
  alter table broadcast_intervals add column doubtful integer not null default 0;
  `,
];
