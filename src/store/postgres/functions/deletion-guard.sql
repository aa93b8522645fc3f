-- Marks on subscriptions that their push service called gone: see ../../held-deletions.ts, and
-- ../../sqlite/deletion-guard.ts for how answers are counted in windows.
--
-- Marks of an origin are made, cleared and decided by one transaction after the other, under a lock. While marks wait to be
-- decided, all its answers are counted in windows under that lock. While none do, an answer decides nothing: it matters only
-- to a later mark, as what was answered before. It is counted without the lock then, and whoever takes the lock first takes it
-- into a window, before marks of its own.

create function deskbell_functions.current_window(p_origin text) returns bigint language sql stable as $$
  select coalesce(max(number), 0) from deskbell.answer_windows where origin = p_origin
$$;

create function deskbell_functions.is_healthy(answers bigint, accepted bigint) returns boolean language sql immutable as $$
  select accepted * :answersPerAcceptance >= answers
$$;

-- the window is healthy, or inconclusive after one that is; its neighbours are healthy or inconclusive
create function deskbell_functions.is_reliable(p_origin text, p_window bigint) returns boolean language sql stable as $$
  select exists (select from deskbell.answer_windows w
                 where w.origin = p_origin and w.number = p_window
                   and (deskbell_functions.is_healthy(w.answers, w.accepted)
                        or (w.answers < :minWindowAnswers
                            and exists (select from deskbell.answer_windows b
                                        where b.origin = p_origin and b.number = p_window - 1
                                          and b.answers >= :minWindowAnswers))))
    and not exists (select from deskbell.answer_windows w
                    where w.origin = p_origin and w.number in (p_window - 1, p_window + 1)
                      and w.answers >= :minWindowAnswers
                      and not deskbell_functions.is_healthy(w.answers, w.accepted))
$$;

-- deletes the subscriptions that were marked in these windows and are not held
create function deskbell_functions.delete_marked(p_origin text, first_window bigint, last_window bigint)
returns bigint language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  deleted bigint;
begin
  delete from deskbell.subscriptions s using deskbell.gone_marks m
  where m.origin = p_origin and not m.is_held and m.answer_window between first_window and last_window
    and s.endpoint_hash = m.endpoint_hash and s.id = m.subscription_id;
  get diagnostics deleted = row_count;
  return deleted;
end $$;

-- deletes what is marked where it is little; false where it is not
create function deskbell_functions.delete_few(p_origin text) returns boolean language plpgsql as $$
declare
  deleted bigint;
begin
  -- bounded: a million marks are not counted at each commit
  if (select count(*) from (select from deskbell.gone_marks where origin = p_origin limit :fewMarks) m)
     + coalesce((select rows from deskbell.few_deletions where origin = p_origin), 0) >= :fewMarks then
    return false;
  end if;
  deleted := deskbell_functions.delete_marked(p_origin, 0, :everyWindow);
  if deleted > 0 then
    insert into deskbell.few_deletions as f (origin, rows) values (p_origin, deleted)
      on conflict (origin) do update set rows = f.rows + excluded.rows;
  end if;
  return true;
end $$;

create function deskbell_functions.hold_marked(p_origin text, p_window bigint) returns bigint language plpgsql as $$
declare
  held bigint;
begin
  update deskbell.gone_marks set is_held = true
    where origin = p_origin and not is_held and answer_window = p_window;
  get diagnostics held = row_count;
  return held;
end $$;

-- decides the marks of windows up to the last one; how many are held from now on
create function deskbell_functions.decide_windows(p_origin text, last_window bigint) returns bigint language plpgsql as $$
declare
  marked bigint;
  held bigint := 0;
  is_first boolean := true;
begin
  for marked in
    select distinct answer_window from deskbell.gone_marks
    where origin = p_origin and not is_held and answer_window <= last_window
  loop
    if is_first and deskbell_functions.delete_few(p_origin) then return 0; end if;
    is_first := false;
    if deskbell_functions.is_reliable(p_origin, marked) then
      perform deskbell_functions.delete_marked(p_origin, marked, marked);
    else
      held := held + deskbell_functions.hold_marked(p_origin, marked);
    end if;
  end loop;
  return held;
end $$;

create function deskbell_functions.open_window(p_origin text, opened bigint, keep_from bigint)
returns void language plpgsql as $$
begin
  insert into deskbell.answer_windows (origin, number, answers, accepted) values (p_origin, opened, 0, 0);
  delete from deskbell.answer_windows where origin = p_origin and number < keep_from;
end $$;

-- adds to the current window of the origin, which is locked
create function deskbell_functions.add_to_window(p_origin text, p_answers bigint, p_accepted bigint)
returns deskbell.answer_windows language plpgsql as $$
declare
  counted deskbell.answer_windows;
begin
  insert into deskbell.answer_windows as w (origin, number, answers, accepted)
    values (p_origin, deskbell_functions.current_window(p_origin), p_answers, p_accepted)
    on conflict (origin, number) do update set
      answers = w.answers + excluded.answers, accepted = w.accepted + excluded.accepted
    returning * into counted;
  if p_accepted > 0 and deskbell_functions.is_healthy(counted.answers, counted.accepted) then
    delete from deskbell.few_deletions where origin = p_origin;
  end if;
  return counted;
end $$;

create function deskbell_functions.has_undecided(p_origin text) returns boolean language sql stable as $$
  select exists (select from deskbell.gone_marks where origin = p_origin and not is_held)
$$;

-- Takes the lock until the end of the transaction. What was counted without it comes before the answers of this transaction:
-- if it fills a window, the next one begins. If a mark waits, it was counted by transactions that did not see the mark yet: its
-- acceptances may be from before the mark, and do not speak for it.
create function deskbell_functions.lock_origin(p_origin text) returns void language plpgsql as $$
declare
  unlocked record;
  counted deskbell.answer_windows;
begin
  perform pg_advisory_xact_lock(hashtext('deskbell answers'), hashtext(p_origin));
  with taken as (
    select shard, answers, accepted from deskbell.unlocked_answers where origin = p_origin and answers > 0 for update
  ), emptied as (
    update deskbell.unlocked_answers u set answers = 0, accepted = 0
      from taken t where u.origin = p_origin and u.shard = t.shard
  )
  select sum(answers)::bigint as answers, sum(accepted)::bigint as accepted into unlocked from taken;
  if unlocked.answers is null then return; end if;
  if deskbell_functions.has_undecided(p_origin) then
    perform deskbell_functions.add_to_window(p_origin, unlocked.answers - unlocked.accepted, 0);
    return;
  end if;
  counted := deskbell_functions.add_to_window(p_origin, unlocked.answers, unlocked.accepted);
  if counted.answers >= :windowAnswers then
    perform deskbell_functions.open_window(p_origin, counted.number + 1, counted.number - 1);
  end if;
end $$;

-- Counts answers of an origin that is not locked, while no mark of it waits. Of each shard the latest hundred are enough: an
-- answer of long ago says nothing of a later mark.
create function deskbell_functions.count_unlocked(p_origin text, p_shard int, p_answers bigint, p_accepted bigint)
returns void language sql volatile as $$
  insert into deskbell.unlocked_answers as u (origin, shard, answers, accepted)
    values (p_origin, p_shard, p_answers, p_accepted)
    on conflict (origin, shard) do update set
      answers = excluded.answers + case when u.answers < :windowAnswers then u.answers else 0 end,
      accepted = excluded.accepted + case when u.answers < :windowAnswers then u.accepted else 0 end
$$;

-- counts answers of the origin, which is locked; how many marks are held from now on
create function deskbell_functions.count_answers(p_origin text, p_answers bigint, p_accepted bigint)
returns bigint language plpgsql as $$
declare
  counted deskbell.answer_windows := deskbell_functions.add_to_window(p_origin, p_answers, p_accepted);
  held bigint;
begin
  if counted.answers < :windowAnswers then return 0; end if;
  held := deskbell_functions.decide_windows(p_origin, counted.number - 1);
  perform deskbell_functions.open_window(p_origin, counted.number + 1, counted.number - 1);
  return held;
end $$;

-- decides all marks of the origin: nothing more comes for a while; how many are held from now on
create function deskbell_functions.decide_origin(p_origin text) returns bigint language plpgsql as $$
declare
  held bigint;
  latest bigint;
begin
  perform deskbell_functions.lock_origin(p_origin);
  held := deskbell_functions.decide_windows(p_origin, :everyWindow);
  -- what comes next, perhaps days later, is decided by itself
  latest := deskbell_functions.current_window(p_origin);
  perform deskbell_functions.open_window(p_origin, latest + 1, latest + 1);
  return held;
end $$;

-- Marks the subscriptions that a push service called gone in answer to single messages, clears the marks of those that it
-- accepted, and decides. The origin is locked.
create function deskbell_functions.judge_single_answers(
  p_origin text, p_answers bigint, p_accepted bigint, gone jsonb, accepted_hashes uuid[], now_ms bigint
) returns void language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  p_window bigint := deskbell_functions.current_window(p_origin);
  marked bigint;
begin
  insert into deskbell.gone_marks as m (subscription_id, endpoint_hash, origin, answer_window, marked_at_ms)
    select distinct on (s.id) s.id, s.endpoint_hash, p_origin, p_window, now_ms
    from jsonb_to_recordset(gone) as g ("hash" uuid, "p256dh" text, "auth" text)
    join deskbell.subscriptions s on s.endpoint_hash = g."hash"
    where s.p256dh = decode(g."p256dh", 'hex') and s.auth = decode(g."auth", 'hex')
    order by s.id
    -- marked again: the new answer decides, the first mark's time stays
    on conflict (subscription_id) do update set
      origin = excluded.origin, answer_window = excluded.answer_window, is_held = false;
  get diagnostics marked = row_count;
  delete from deskbell.gone_marks where endpoint_hash = any (accepted_hashes);
  perform deskbell_functions.count_answers(p_origin, p_answers, p_accepted);
  if marked = 0 then return; end if;
  -- it may be long until the next answers
  if not deskbell_functions.delete_few(p_origin) and not exists (
    select from deskbell.answer_windows w
    where w.origin = p_origin and w.number = p_window and deskbell_functions.is_healthy(w.answers, w.accepted)
  ) then
    perform deskbell_functions.hold_marked(p_origin, p_window);
  end if;
end $$;

-- Stores what push services answered to single messages; the states of push services. Calling it again with the same commit
-- changes nothing. origins: see "toAnswered" in ../ledger.ts.
create function deskbell_functions.record_single_answers(p_now_ms bigint, p_commit uuid, origins jsonb, answers jsonb)
returns jsonb language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  now_ms bigint := deskbell_functions.clock(p_now_ms);
  own_shard int := pg_backend_pid() % 16;
  told record;
begin
  -- what is deleted below takes this lock, too: before any row, so that nobody waits in a circle with one who freezes an audience
  perform pg_advisory_xact_lock_shared(hashtext('deskbell subscriptions'), 1);
  insert into deskbell.commits (id, at_ms) values (p_commit, now_ms) on conflict do nothing;
  if not found then return deskbell_functions.push_service_states(now_ms); end if;
  perform deskbell_functions.update_push_services(answers, now_ms);
  -- before the locks, as page commits do, so that they do not wait for each other in a circle
  perform deskbell_functions.count_outcomes(null, now_ms, o."name", own_shard, o."counts", now_ms)
    from (select * from jsonb_to_recordset(origins) as r ("name" text, "counts" bigint[]) order by "name") o;
  for told in
    select * from jsonb_to_recordset(origins) as o (
      "origin" text, "answers" bigint, "accepted" bigint, "acceptedHashes" uuid[], "gone" jsonb)
    where o."answers" > 0
    -- in one order, so that commits do not wait for each other in a circle
    order by o."origin"
  loop
    if jsonb_array_length(told."gone") > 0 or deskbell_functions.has_undecided(told."origin")
      or exists (select from deskbell.gone_marks m where m.endpoint_hash = any (told."acceptedHashes")) then
      perform deskbell_functions.lock_origin(told."origin");
      perform deskbell_functions.judge_single_answers(
        told."origin", told."answers", told."accepted", told."gone", told."acceptedHashes", now_ms);
    else
      perform deskbell_functions.count_unlocked(told."origin", own_shard, told."answers", told."accepted");
    end if;
  end loop;
  return deskbell_functions.push_service_states(now_ms);
end $$;
