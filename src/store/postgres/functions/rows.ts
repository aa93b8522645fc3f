// Functions of the database that read the rows of an audience and store what came of them.
import { broadcastWidths, outcomeWidths } from '../../statistics.ts';
import { partitions } from '../migrations.ts';

const maxAcceptedPerBroadcast = 1000;
const maxOthersPerBroadcast = 10_000;
const shards = 64;

const { fine, coarse } = outcomeWidths;
/** The width of the interval of a broadcast, by its age. */
const widthByAge = broadcastWidths
  .map(({ untilMs, widthMs }) =>
    untilMs === Infinity ? `else ${widthMs}` : `when age < ${untilMs} then ${widthMs}`,
  )
  .join(' ');

/** Stored subscriptions behind a position, in order, as one row of texts. */
const pageOf = (table: string, after: string, through: string, maxRows: string): string => `
  select string_agg(s.id::text, ',' order by s.id),
         null,
         string_agg(s.endpoint, chr(10) order by s.id),
         string_agg(encode(s.p256dh || s.auth, 'hex'), '' order by s.id),
         string_agg(s.vapid_key_id::text, ',' order by s.id),
         string_agg(s.updated_at_ms::text, ',' order by s.id)
  from (select * from ${table} where id > ${after} and id <= ${through} order by id limit ${maxRows}) s`;

/** @param schema where the functions are */
export const rowFunctions = (schema: string): string => `
  -- Rows of a slice behind a position, in order, as one row of texts: reading them takes a third of the time that as many
  -- rows take. What has left the store is left out. keys: p256dh and auth, 81 bytes in hexadecimal digits each.
  create function ${schema}.read_rows(of_broadcast bigint, slice int, after bigint, through bigint, max_rows int)
  returns table (
    positions text, subscription_ids text, endpoints text, keys text, vapid_key_ids text, updated_at_ms text
  ) language plpgsql
  -- planning for all partitions takes longer than reading a page of them: it is done once, for the index of ids
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  as $$
  #variable_conflict use_column
  declare
    head record;
  begin
    select b.rows_in, b.audience_id into head from deskbell.broadcasts b where b.id = of_broadcast;
    if head.rows_in = 'list' then
      return query
        select string_agg(m.position::text, ',' order by m.position),
               string_agg(coalesce(m.subscription_id::text, ''), ',' order by m.position),
               string_agg(coalesce(m.endpoint, s.endpoint), chr(10) order by m.position),
               string_agg(encode(coalesce(m.p256dh, s.p256dh) || coalesce(m.auth, s.auth), 'hex'), '' order by m.position),
               string_agg(coalesce(s.vapid_key_id::text, ''), ',' order by m.position),
               string_agg(case when m.endpoint is null then s.updated_at_ms::text else '' end, ',' order by m.position)
        from (
          select m.* from deskbell.audience_members m
          left join deskbell.subscriptions s on s.endpoint_hash = m.endpoint_hash and s.id = m.subscription_id
          where m.audience_id = head.audience_id and m.position > after and m.position <= through
            and (m.endpoint is not null or s.id is not null)
          order by m.position limit max_rows
        ) m
        left join deskbell.subscriptions s
          on s.endpoint_hash = m.endpoint_hash and (m.subscription_id is null or s.id = m.subscription_id);
      return;
    end if;
    if head.rows_in = 'all' then
      return query ${pageOf('deskbell.subscriptions', 'after', 'through', 'max_rows')};
      return;
    end if;
    return query execute format($page$${pageOf('deskbell.subscriptions_%s', '$1', '$2', '$3')}$page$, slice % ${partitions})
      using after, through, max_rows;
  end $$;

  -- the work of "commit_page" under the locks of origins: marks, and answers for judging them; the alarms that this raises.
  -- counted: the positions of rows that are this worker's; null: all
  create function ${schema}.mark_page(
    of_broadcast bigint, now_ms bigint, counted bigint[], origins text[], positions bigint[], row_origins int[],
    results text[], answered boolean[], gone jsonb, accepted_ids bigint[], accepted_hashes uuid[]
  ) returns jsonb language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
  as $$
  declare
    told record;
    alarms jsonb := '[]';
  begin
    for told in
      select origins[r.origin] as origin, count(*) filter (where r.answered) as answers,
             count(*) filter (where r.result = 'accepted') as accepted
      from unnest(positions, row_origins, results, answered) as r (position, origin, result, answered)
      where counted is null or r.position = any (counted)
      group by 1 having bool_or(r.answered or r.result = 'gone')
      -- in one order, so that commits do not wait for each other in a circle
      order by 1
    loop
      perform ${schema}.lock_origin(told.origin);
      insert into deskbell.gone_marks as m (subscription_id, endpoint_hash, origin, answer_window, marked_at_ms)
        select s.id, s.endpoint_hash, told.origin, ${schema}.current_window(told.origin), now_ms
        from jsonb_to_recordset(gone) as g (
          "position" bigint, "origin" text, "id" bigint, "hash" uuid, "updatedAtMs" bigint, "p256dh" text, "auth" text)
        join deskbell.subscriptions s on s.endpoint_hash = g."hash"
        where g."origin" = told.origin and (counted is null or g."position" = any (counted))
          -- unless it was renewed since it was read
          and case when g."id" is null
                then s.p256dh = decode(g."p256dh", 'hex') and s.auth = decode(g."auth", 'hex')
                else s.id = g."id" and s.updated_at_ms = g."updatedAtMs" end
        order by s.id
        -- marked again: the new answer is judged, the first mark's time stays
        on conflict (subscription_id) do update set
          origin = excluded.origin, answer_window = excluded.answer_window, is_held = false;
      if told.accepted > 0 and exists (select from deskbell.gone_marks m where m.origin = told.origin) then
        delete from deskbell.gone_marks m
        where m.subscription_id = any (accepted_ids) or m.endpoint_hash = any (accepted_hashes);
      end if;
      continue when told.answers = 0;
      alarms := alarms || coalesce(${schema}.raise_held(of_broadcast, told.origin,
        ${schema}.count_answers(told.origin, told.answers, told.accepted), now_ms), '[]');
    end loop;
    return alarms;
  end $$;

  -- adds what was tried to the attempt log, as far as there is room in it
  create function ${schema}.log_attempts(of_broadcast bigint, counted bigint[], records jsonb)
  returns void language plpgsql as $$
  declare
    log record;
  begin
    if jsonb_array_length(records) = 0 then return; end if;
    select logged_accepted, logged_others into log from deskbell.broadcasts where id = of_broadcast for no key update;
    with tried as (
      select r.*, row_number() over (partition by r."outcome" = 'accepted' order by r.number) as place
      from rows from (jsonb_to_recordset(records) as (
        "position" bigint, "subscriptionId" bigint, "atMs" bigint, "origin" text, "attempt" int, "outcome" text,
        "status" int, "reason" text, "detail" text)) with ordinality as r (
        "position", "subscriptionId", "atMs", "origin", "attempt", "outcome", "status", "reason", "detail", number)
      where counted is null or r."position" = any (counted)
    ), added as (
      insert into deskbell.attempts
        (broadcast_id, subscription_id, at_ms, origin, attempt, outcome, status, reason, detail)
      select of_broadcast, t."subscriptionId", t."atMs", t."origin", t."attempt", t."outcome", t."status", t."reason",
             t."detail"
      from tried t
      where t.place <= case when t."outcome" = 'accepted' then ${maxAcceptedPerBroadcast} - log.logged_accepted
                            else ${maxOthersPerBroadcast} - log.logged_others end
      order by t.number
      returning outcome
    )
    update deskbell.broadcasts set
      logged_accepted = logged_accepted + (select count(*) from added where outcome = 'accepted'),
      logged_others = logged_others + (select count(*) from added where outcome <> 'accepted')
    where id = of_broadcast;
  end $$;

  -- Rows to be tried again as they are stored; held back where their push service is held.
  create function ${schema}.read_retries(now_ms bigint, retries jsonb) returns table (
    "position" bigint, hash uuid, due_at_ms bigint, attempts int, deferrals int, expires_at_ms bigint,
    is_detached boolean, push_service_id int, draw_order bigint, refusals int, refused_by int, refused_since_ms bigint
  ) language sql stable as $$
    select r."position", r."hash", case when p.held_since_ms is null then now_ms + r."delayMs" else r."expiresAtMs" end,
           r."attempts", r."deferrals", r."expiresAtMs", r."isDetached", case when p.held_since_ms is not null then p.id end,
           -- rows that the push service accepted before are drawn first
           case when p.held_since_ms is not null then
             case when exists (select from deskbell.accepted_subscriptions a
                               where a.push_service_id = p.id and a.subscription_id = r."subscriptionId")
               then -1 - r."drawOrder" else r."drawOrder" end
           end,
           -- how often it was refused during a hold says nothing of the row
           least(coalesce(r."refusals", 0), case when p.held_since_ms is not null then 1 end),
           case when r."isRefused" then p.id end, case when r."isRefused" then now_ms end
    from jsonb_to_recordset(retries) as r (
      "position" bigint, "hash" uuid, "delayMs" bigint, "attempts" int, "deferrals" int, "expiresAtMs" bigint,
      "isDetached" boolean, "origin" text, "heldKey" text, "drawOrder" bigint, "subscriptionId" bigint,
      "refusals" int, "isRefused" boolean)
    left join deskbell.push_services p on p.origin = r."origin" and p.vapid_public_key = r."heldKey"
  $$;

  -- Stores rows of a slice to be tried again, or held by the worker until their answers come.
  create function ${schema}.add_retries(of_broadcast bigint, now_ms bigint, its_token text, retries jsonb)
  returns void language sql volatile as $$
    insert into deskbell.retries (broadcast_id, position, endpoint_hash, due_at_ms, attempts, deferrals, expires_at_ms,
                                  token, push_service_id, draw_order, refusals, refused_by, refused_since_ms)
    select of_broadcast, p.position, p.hash, p.due_at_ms, p.attempts, p.deferrals, p.expires_at_ms,
           case when p.is_detached then its_token end, p.push_service_id, p.draw_order,
           p.refusals, p.refused_by, p.refused_since_ms
    from ${schema}.read_retries(now_ms, retries) p
  $$;

  -- adds to an interval of one push service; true where it is the first in this interval and shard
  create function ${schema}.count_interval(
    of_broadcast bigint, width bigint, starts bigint, name text, of_shard int, counts bigint[]
  ) returns boolean language sql volatile as $$
    insert into deskbell.outcome_intervals as i (broadcast_id, width_ms, start_ms, push_service, shard,
                                                 attempts, accepted, gone, rejected, expired, exhausted, capped)
      values (of_broadcast, width, starts, name, of_shard,
              counts[1], counts[2], counts[3], counts[4], counts[5], counts[6], counts[7])
      on conflict (broadcast_id, width_ms, start_ms, push_service, shard) do update set
        attempts = i.attempts + excluded.attempts,
        accepted = i.accepted + excluded.accepted,
        gone = i.gone + excluded.gone,
        rejected = i.rejected + excluded.rejected,
        expired = i.expired + excluded.expired,
        exhausted = i.exhausted + excluded.exhausted,
        capped = i.capped + excluded.capped
      returning xmax = 0
  $$;

  -- counts what came of messages to one push service in the intervals of now; of_broadcast: null for a single message
  create function ${schema}.count_outcomes(
    of_broadcast bigint, broadcast_start bigint, name text, of_shard int, counts bigint[], now_ms bigint
  ) returns void language plpgsql as $$
  declare
    age bigint := greatest(0, now_ms - broadcast_start);
    width bigint := case ${widthByAge} end;
  begin
    if ${schema}.count_interval(0, ${coarse.widthMs}, now_ms - now_ms % ${coarse.widthMs}, name, of_shard, counts) then
      delete from deskbell.outcome_intervals where broadcast_id = 0 and (
        width_ms = ${fine.widthMs} and start_ms < now_ms - ${fine.keptMs}
        or width_ms = ${coarse.widthMs} and start_ms < now_ms - ${coarse.keptMs});
    end if;
    perform ${schema}.count_interval(0, ${fine.widthMs}, now_ms - now_ms % ${fine.widthMs}, name, of_shard, counts);
    -- and the total, as an interval without width
    perform ${schema}.count_interval(0, 0, 0, name, of_shard, counts);
    if of_broadcast is not null then
      perform ${schema}.count_interval(
        of_broadcast, width, broadcast_start + age / width * width, name, of_shard, counts);
    end if;
  end $$;

  -- Stores what came of rows: see ../../ledger.ts. slice: null for rows of retries. A row is counted here and nowhere else,
  -- and only by the worker that holds it. Calling it again with the same commit changes nothing.
  create function ${schema}.commit_page(
    given_ms bigint, of_broadcast bigint, its_token text, lease_ms bigint, its_commit text, slice int, new_cursor bigint,
    origins text[], names text[], positions bigint[], row_origins int[], results text[], attempts int[],
    answered boolean[], retries jsonb, gone jsonb, accepted_ids bigint[], accepted_hashes uuid[], alarms jsonb, records jsonb, answers jsonb
  ) returns jsonb language plpgsql as $$
  declare
    now_ms bigint := ${schema}.clock(given_ms);
    head record;
    through bigint;
    -- null: all; looking a thousand up among a thousand would cost more than all else
    counted bigint[];
    may_be_over boolean := false;
    raised jsonb := '[]';
    alarm record;
    its_shard int := abs(hashtext(its_token) % ${shards});
  begin
    perform ${schema}.record_answers(answers, now_ms);
    select state, start_at_ms, logged_accepted, logged_others, per_person into head from deskbell.broadcasts where id = of_broadcast;
    if not found then
      return jsonb_build_object('isLeaseLost', true, 'state', 'cancelled', 'newAlarms', raised,
        'pushServices', ${schema}.push_service_states(now_ms));
    end if;

    if slice is not null then
      update deskbell.slices set cursor = new_cursor, lease_until_ms = now_ms + lease_ms, last_commit = its_commit
        where broadcast_id = of_broadcast and number = slice and token = its_token
          and last_commit is distinct from its_commit
        returning through_position into through;
      if not found then
        return jsonb_build_object('state', head.state, 'newAlarms', raised,
          'isLeaseLost', not exists (select from deskbell.slices where broadcast_id = of_broadcast and number = slice
                                     and token = its_token and last_commit = its_commit),
          'pushServices', ${schema}.push_service_states(now_ms));
      end if;
      if new_cursor >= through then
        delete from deskbell.slices where broadcast_id = of_broadcast and number = slice;
        may_be_over := true;
      end if;
      -- what is cancelled is not tried again; an answer that is still to come is waited for
      perform ${schema}.add_retries(of_broadcast, now_ms, its_token, case when head.state = 'cancelled'
        then jsonb_path_query_array(retries, '$[*] ? (@.isDetached == true)') else retries end)
        where jsonb_array_length(retries) > 0;
    else
      with changed as (
        update deskbell.retries r set
          due_at_ms = p.due_at_ms, attempts = p.attempts, deferrals = p.deferrals, expires_at_ms = p.expires_at_ms,
          token = case when p.is_detached then its_token end,
          push_service_id = p.push_service_id, draw_order = p.draw_order, refusals = p.refusals,
          refused_by = coalesce(r.refused_by, p.refused_by),
          refused_since_ms = coalesce(r.refused_since_ms, p.refused_since_ms)
        from ${schema}.read_retries(now_ms, retries) p
        where r.broadcast_id = of_broadcast and r.position = p.position and r.token = its_token
        returning r.position
      ), settled as (
        delete from deskbell.retries r
        where r.broadcast_id = of_broadcast and r.token = its_token and r.position = any (positions)
          and not r.position in (select p.position from ${schema}.read_retries(now_ms, retries) p)
        returning r.position
      )
      select array(select position from changed union all select position from settled), exists (select from settled)
        into counted, may_be_over;
    end if;

    insert into deskbell.origin_counts as c
      (broadcast_id, shard, origin, attempts, accepted, gone, rejected, expired, exhausted, capped)
    select of_broadcast, its_shard, origins[r.origin], sum(r.attempts),
           count(*) filter (where r.result = 'accepted'), count(*) filter (where r.result = 'gone'),
           count(*) filter (where r.result = 'rejected'), count(*) filter (where r.result = 'expired'),
           count(*) filter (where r.result = 'exhausted'), count(*) filter (where r.result = 'capped')
    from unnest(positions, row_origins, results, attempts) as r (position, origin, result, attempts)
    where counted is null or r.position = any (counted)
    group by 3 order by 3
    on conflict (broadcast_id, shard, origin) do update set
      attempts = c.attempts + excluded.attempts,
      accepted = c.accepted + excluded.accepted,
      gone = c.gone + excluded.gone,
      rejected = c.rejected + excluded.rejected,
      expired = c.expired + excluded.expired,
      exhausted = c.exhausted + excluded.exhausted,
      capped = c.capped + excluded.capped;

    perform ${schema}.count_outcomes(of_broadcast, head.start_at_ms, t.name, its_shard, t.counts, now_ms)
    from (
      select names[r.origin] as name, array[
        sum(r.attempts),
        count(*) filter (where r.result = 'accepted'), count(*) filter (where r.result = 'gone'),
        count(*) filter (where r.result = 'rejected'), count(*) filter (where r.result = 'expired'),
        count(*) filter (where r.result = 'exhausted'), count(*) filter (where r.result = 'capped')]::bigint[] as counts
      from unnest(positions, row_origins, results, attempts) as r (position, origin, result, attempts)
      where counted is null or r.position = any (counted)
      group by 1 order by 1
    ) t;

    for alarm in
      select a."origin", a."reason", min(a."detail") as detail, count(*) as rows
      from jsonb_to_recordset(alarms) as a ("position" bigint, "origin" text, "reason" text, "detail" text)
      where counted is null or a."position" = any (counted) group by 1, 2 order by 1, 2
    loop
      raised := raised || coalesce(
        ${schema}.raise_alarm(of_broadcast, alarm."origin", alarm."reason", alarm.detail, alarm.rows, now_ms), '[]');
    end loop;
    raised := raised || ${schema}.mark_page(of_broadcast, now_ms, counted, origins, positions, row_origins, results,
      answered, gone, accepted_ids, accepted_hashes);
    perform ${schema}.log_attempts(of_broadcast, counted, records);
    if head.per_person is not null and 'accepted' = any (results) then
      perform ${schema}.accept_reaches(of_broadcast, accepted_ids, accepted_hashes, now_ms);
    end if;
    if head.state = 'cancelled' then
      raised := raised || ${schema}.judge_marks(of_broadcast, now_ms);
    elsif may_be_over then
      raised := raised || ${schema}.finish_if_over(of_broadcast, now_ms);
    end if;
    return jsonb_build_object('isLeaseLost', false, 'state', head.state, 'newAlarms', raised,
      'pushServices', ${schema}.push_service_states(now_ms),
      'hasRoomForAccepted', head.logged_accepted < ${maxAcceptedPerBroadcast},
      'hasRoomForOthers', head.logged_others < ${maxOthersPerBroadcast});
  end $$;
`;
