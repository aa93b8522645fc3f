-- Marks on subscriptions that their push service calls gone, and the other answers: see ../../deletion-guard.ts.

-- Records an origin's answers without waiting for other transactions. Returns whether its marks must be judged now.
-- of_page: JudgedAnswers in ../../deletion-guard.ts, or null for single messages. gone: [{origin, hash, id,
-- updatedAtMs}], or with p256dh and auth instead of the last two.
create function deskbell_functions.note_answers(
  p_origin text, of_page jsonb, p_answers bigint, p_accepted bigint, p_gone bigint, gone jsonb,
  accepted_ids bigint[], accepted_hashes uuid[], now_ms bigint
) returns boolean language plpgsql as $$
declare
  own_window bigint;
  other_answers bigint := p_answers;
  other_accepted bigint := p_accepted;
begin
  if p_gone > 0
    or (p_answers > 0 and exists (select from deskbell.gone_marks m where m.origin = p_origin and not m.is_held)) then
    insert into deskbell.deletion_guards (origin) values (p_origin) on conflict do nothing;
    other_answers := coalesce((of_page #>> '{before,answers}')::bigint, 0);
    other_accepted := coalesce((of_page #>> '{before,accepted}')::bigint, 0);
    insert into deskbell.answer_windows (origin, answers, accepted, is_of_pages, from_ms, marks_ms)
      values (p_origin, coalesce((of_page ->> 'answers')::bigint, p_answers),
              coalesce((of_page ->> 'accepted')::bigint, p_accepted), (of_page is not null)::int,
              coalesce((of_page ->> 'fromMs')::bigint, 0), coalesce((of_page ->> 'marksMs')::bigint, 0))
      returning id into own_window;
  end if;
  if other_answers > 0 then
    -- the latest of each shard are enough: an old answer says nothing about a later mark
    insert into deskbell.uncounted_answers as u (origin, shard, answers, accepted)
      values (p_origin, pg_backend_pid() % 64, other_answers, other_accepted)
      on conflict (origin, shard) do update set
        answers = excluded.answers + case when u.answers < :windowAnswers then u.answers else 0 end,
        accepted = excluded.accepted + case when u.answers < :windowAnswers then u.accepted else 0 end;
  end if;
  -- usually nothing is gone, and this statement joins the subscriptions of all partitions
  if p_gone > 0 then
    insert into deskbell.gone_marks as m (
        subscription_id, endpoint_hash, origin, answer_window, marked_at_ms, updated_at_ms)
      select distinct on (s.id) s.id, s.endpoint_hash, p_origin, own_window, now_ms, s.updated_at_ms
      from jsonb_to_recordset(gone) as g (
        "origin" text, "id" bigint, "hash" uuid, "updatedAtMs" bigint, "p256dh" text, "auth" text)
      join deskbell.subscriptions s on s.endpoint_hash = g."hash"
      where g."origin" = p_origin
        -- unless the subscription was renewed since it was read
        and case when g."id" is null
              then s.p256dh = decode(g."p256dh", 'hex') and s.auth = decode(g."auth", 'hex')
              else s.id = g."id" and s.updated_at_ms = g."updatedAtMs" end
      order by s.id
      -- marked again: the new answer counts, but the time of the first mark stays
      on conflict (subscription_id) do update set origin = excluded.origin, answer_window = excluded.answer_window,
        updated_at_ms = excluded.updated_at_ms, is_held = false;
  end if;
  if p_accepted > 0 and exists (select from deskbell.gone_marks m where m.origin = p_origin) then
    delete from deskbell.gone_marks m
    where m.subscription_id = any (accepted_ids) or m.endpoint_hash = any (accepted_hashes);
  end if;
  return own_window is not null and (of_page is null or :judgedPages <= (
    select count(*) from deskbell.answer_windows w where w.origin = p_origin and w.number is null));
end $$;

-- Does the same for a page of a broadcast. Returns the origins whose marks must be judged now.
create function deskbell_functions.note_page(
  now_ms bigint, origins jsonb, answers_of jsonb, accepted_ids bigint[], accepted_hashes uuid[]
) returns jsonb language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  return (
    with told as materialized (
      select * from jsonb_to_recordset(origins) as o ("origin" text, "answers" bigint, "accepted" bigint, "gone" jsonb)
      where o."answers" > 0 or jsonb_array_length(o."gone") > 0
      -- in the same order everywhere, so that commits cannot deadlock
      order by o."origin"
    )
    select coalesce(jsonb_agg(t."origin"), '[]') from told t
    where deskbell_functions.note_answers(t."origin", answers_of -> t."origin", t."answers", t."accepted",
      jsonb_array_length(t."gone"), t."gone", accepted_ids, accepted_hashes, now_ms));
end $$;

-- Stores answers of push services to single messages. Returns {pushServices, judged}: their states, and the origins whose marks
-- must be judged now. Calling it again with the same commit changes nothing. origins: see "toAnswered" in ../ledger.ts.
create function deskbell_functions.record_single_answers(p_now_ms bigint, p_commit uuid, origins jsonb, answers jsonb)
returns jsonb language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  now_ms bigint := deskbell_functions.clock(p_now_ms);
  own_shard int := pg_backend_pid() % 16;
  told record;
  judged jsonb := '[]';
begin
  insert into deskbell.commits (id, at_ms) values (p_commit, now_ms) on conflict do nothing;
  if found then
    perform deskbell_functions.update_push_services(answers, now_ms);
    -- in the same order everywhere, so that commits cannot deadlock
    perform deskbell_functions.count_outcomes(null, now_ms, o."name", own_shard, o."counts", now_ms)
      from (select * from jsonb_to_recordset(origins) as r ("name" text, "counts" bigint[]) order by "name") o;
    for told in
      select * from jsonb_to_recordset(origins) as o (
        "origin" text, "answers" bigint, "accepted" bigint, "acceptedHashes" uuid[], "gone" jsonb)
      where o."answers" > 0 order by o."origin"
    loop
      if deskbell_functions.note_answers(told."origin", null, told."answers", told."accepted",
          jsonb_array_length(told."gone"), told."gone", '{}', told."acceptedHashes", now_ms) then
        judged := judged || to_jsonb(told."origin");
      end if;
    end loop;
  else
    judged := (select coalesce(jsonb_agg(o."origin"), '[]') from jsonb_to_recordset(origins) as o ("origin" text));
  end if;
  return jsonb_build_object('pushServices', deskbell_functions.push_service_states(now_ms), 'judged', judged);
end $$;
