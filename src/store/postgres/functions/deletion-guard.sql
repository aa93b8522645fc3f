-- Marks on subscriptions that their push service called gone: see ../../held-deletions.ts, and
-- ../../sqlite/deletion-guard.ts for how answers are counted in windows. All answers of an origin are counted and decided one
-- transaction after the other, under a lock.

create function deskbell_functions.lock_origin(p_origin text) returns void language sql as $$
  select pg_advisory_xact_lock(hashtext('deskbell answers'), hashtext(p_origin))
$$;

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

-- counts answers of the origin, which is locked; how many marks are held from now on
create function deskbell_functions.count_answers(p_origin text, p_answers bigint, p_accepted bigint)
returns bigint language plpgsql as $$
declare
  counted deskbell.answer_windows;
  held bigint;
begin
  insert into deskbell.answer_windows as w (origin, number, answers, accepted)
    values (p_origin, deskbell_functions.current_window(p_origin), p_answers, p_accepted)
    on conflict (origin, number) do update set
      answers = w.answers + excluded.answers, accepted = w.accepted + excluded.accepted
    returning * into counted;
  if p_accepted > 0 and deskbell_functions.is_healthy(counted.answers, counted.accepted) then
    delete from deskbell.few_deletions where origin = p_origin;
  end if;
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

-- What a push service answered to a single message: whether its subscription was deleted, marked or kept.
create function deskbell_functions.record_single_answer(
  p_now_ms bigint, p_origin text, push_service text, answer text, hash uuid, p_p256dh bytea, p_auth bytea, answers jsonb
) returns text language plpgsql as $$
declare
  now_ms bigint := deskbell_functions.clock(p_now_ms);
  marked bigint;
  result text := case answer when 'refused' then 'rejected' else answer end;
begin
  perform deskbell_functions.update_push_services(answers, now_ms);
  -- before the lock, as page commits do, so that they do not wait for each other in a circle
  perform deskbell_functions.count_outcomes(null, now_ms, push_service, pg_backend_pid() % 16,
    array[1, :isResult]::bigint[], now_ms);
  perform deskbell_functions.lock_origin(p_origin);
  if answer = 'gone' then
    insert into deskbell.gone_marks as m (subscription_id, endpoint_hash, origin, answer_window, marked_at_ms)
      select s.id, s.endpoint_hash, p_origin, deskbell_functions.current_window(p_origin), now_ms
      from deskbell.subscriptions s
      where s.endpoint_hash = hash and s.p256dh = p_p256dh and s.auth = p_auth
      -- marked again: the new answer decides, the first mark's time stays
      on conflict (subscription_id) do update set
        origin = excluded.origin, answer_window = excluded.answer_window, is_held = false
      returning subscription_id into marked;
  elsif answer = 'accepted' then
    delete from deskbell.gone_marks where endpoint_hash = hash;
  end if;
  -- that our token or key is refused says nothing of subscriptions
  if answer <> 'refused' then perform deskbell_functions.count_answers(p_origin, 1, (answer = 'accepted')::int); end if;
  if marked is null then return 'kept'; end if;
  -- it may be long until the next answers
  if not deskbell_functions.delete_few(p_origin) and not exists (
    select from deskbell.answer_windows w
    where w.origin = p_origin and w.number = deskbell_functions.current_window(p_origin)
      and deskbell_functions.is_healthy(w.answers, w.accepted)
  ) then
    perform deskbell_functions.hold_marked(p_origin, deskbell_functions.current_window(p_origin));
  end if;
  return case when exists (select from deskbell.gone_marks where subscription_id = marked) then 'marked' else 'deleted' end;
end $$;
