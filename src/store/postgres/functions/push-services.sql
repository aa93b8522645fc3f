-- Push services that refuse our token: see ../../push-services.ts.

-- Records answers of push services: [{origin, vapidPublicKey, accepted, hasRefused, refusalsInRow,
-- acceptedSubscriptionId, refusedSubscriptionIds, rejectedSubscriptionIds, waitMs}].
create function deskbell_functions.update_push_services(answers jsonb, now_ms bigint) returns void language plpgsql as $$
declare
  reported record;
  known deskbell.push_services;
  in_row bigint;
  is_news boolean;
begin
  for reported in
    -- in the same order everywhere, so that commits cannot deadlock
    select * from jsonb_to_recordset(answers) as a (
      "origin" text, "vapidPublicKey" text, "accepted" bigint, "hasRefused" boolean, "refusalsInRow" bigint,
      "acceptedSubscriptionId" bigint, "refusedSubscriptionIds" bigint[], "rejectedSubscriptionIds" bigint[], "waitMs" bigint)
    where a."accepted" > 0 or a."refusalsInRow" > 0 or a."waitMs" > 0 or a."rejectedSubscriptionIds" is not null
    order by a."origin", a."vapidPublicKey"
  loop
    select * into known from deskbell.push_services
      where origin = reported."origin" and vapid_public_key = reported."vapidPublicKey";
    if not found then
      insert into deskbell.push_services (origin, vapid_public_key, refusals_to_suspend)
        values (reported."origin", reported."vapidPublicKey", :refusalsToSuspend) on conflict do nothing;
      select * into known from deskbell.push_services
        where origin = reported."origin" and vapid_public_key = reported."vapidPublicKey";
    end if;
    if reported."acceptedSubscriptionId" is not null then
      -- do not wait for a slot that another commit is filling: its subscription is just as good
      perform from deskbell.accepted_subscriptions
        where push_service_id = known.id and slot = reported."acceptedSubscriptionId" % :rememberedRows
        for update skip locked;
      if found then
        update deskbell.accepted_subscriptions set subscription_id = reported."acceptedSubscriptionId"
          where push_service_id = known.id and slot = reported."acceptedSubscriptionId" % :rememberedRows;
      else
        insert into deskbell.accepted_subscriptions (push_service_id, slot, subscription_id)
          values (known.id, reported."acceptedSubscriptionId" % :rememberedRows, reported."acceptedSubscriptionId")
          on conflict (push_service_id, slot) do nothing;
      end if;
    end if;
    -- usually nothing changes, and then this row need not be locked
    continue when reported."accepted" > 0 and reported."refusalsInRow" = known.refusals_in_row and not reported."hasRefused"
      and known.suspended_since_ms is null and reported."refusalsInRow" < known.refusals_to_suspend and reported."waitMs" is null
      and known.accepted_at_ms > known.refused_at_ms and reported."rejectedSubscriptionIds" is null;
    if reported."rejectedSubscriptionIds" is not null then
      delete from deskbell.accepted_subscriptions
        where push_service_id = known.id and subscription_id = any (reported."rejectedSubscriptionIds");
    end if;
    select * into known from deskbell.push_services where id = known.id for no key update;
    -- an acceptance is news only after a refusal; refusals that followed it are later
    is_news := reported."accepted" > 0 and (reported."hasRefused" or known.accepted_at_ms <= known.refused_at_ms);
    if reported."accepted" > 0 and known.suspended_since_ms is not null then
      known.suspended_since_ms := null;
      known.refusals_to_suspend := least(2 * known.refusals_to_suspend, :maxRefusalsToSuspend);
    end if;
    in_row := reported."refusalsInRow" + case when reported."accepted" > 0 then 0 else known.refusals_in_row end;
    if in_row >= known.refusals_to_suspend and known.suspended_since_ms is null then
      known.suspended_since_ms := now_ms;
      known.draws := 0;
      known.probe_at_ms := now_ms + :probePauseMs;
    end if;
    update deskbell.push_services set
      refusals_in_row = in_row, refusals_to_suspend = known.refusals_to_suspend, suspended_since_ms = known.suspended_since_ms,
      draws = known.draws, probe_at_ms = known.probe_at_ms,
      known_refused_at_ms = case when exists (
          select from deskbell.accepted_subscriptions
          where push_service_id = known.id and subscription_id = any (reported."refusedSubscriptionIds"))
        then now_ms else known.known_refused_at_ms end,
      refused_at_ms = case when reported."hasRefused" then now_ms else known.refused_at_ms end,
      accepted_at_ms = case when is_news then now_ms - (reported."refusalsInRow" > 0)::int else known.accepted_at_ms end,
      wait_until_ms = greatest(
        case when known.wait_until_ms <= now_ms + :maxWaitMs then known.wait_until_ms end,
        now_ms + coalesce(reported."waitMs", 0))
    where id = known.id;
  end loop;
end $$;

-- Returns the states that differ from the initial state of a push service.
create function deskbell_functions.push_service_states(now_ms bigint) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object('origin', origin, 'vapidPublicKey', vapid_public_key,
    'isSuspended', suspended_since_ms is not null, 'refusalsToSuspend', refusals_to_suspend,
    'hasAccepted', accepted_at_ms > 0, 'waitMs', wait_ms)), '[]')
  from deskbell.push_services
  cross join lateral (select case when wait_until_ms - now_ms between 1 and :maxWaitMs then wait_until_ms - now_ms else 0 end as wait_ms) w
  where suspended_since_ms is not null or refusals_to_suspend > :refusalsToSuspend or wait_ms > 0
    or (accepted_at_ms > 0 and origin in (select u.origin from deskbell.unlisted_push_services u))
$$;

-- Returns what is known about a push service since it refused a row: see RefusedRow in ../../push-services.ts. At most one row.
-- It returns a table, so that PostgreSQL inlines it into the query; with out parameters it would be planned for each row.
create function deskbell_functions.refusal_evidence(service int, since_ms bigint)
returns table (others_accepted boolean, only_strangers boolean, is_key_good boolean) language sql stable as $$
  select p.accepted_at_ms >= since_ms, p.known_refused_at_ms <= p.accepted_at_ms,
         exists (select from deskbell.push_services q
                 where q.vapid_public_key = p.vapid_public_key and q.accepted_at_ms > 0)
  from deskbell.push_services p where p.id = service
$$;

-- Returns push services with suspended rows, and running broadcasts that have such rows. Broadcasts are only searched
-- for these push services. p_broadcast: 0 for any.
create function deskbell_functions.suspended_work(p_broadcast bigint)
returns table (broadcast_id bigint, push_service_id int, suspended_since_ms bigint, probe_at_ms bigint) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  service record;
begin
  for service in
    select p.id, p.suspended_since_ms, p.probe_at_ms from deskbell.push_services p order by p.id
  loop
    continue when not exists (select from deskbell.retries r where r.push_service_id = service.id);
    return query
      select w.broadcast_id, service.id, service.suspended_since_ms, service.probe_at_ms
      from deskbell.work w
      where (p_broadcast = 0 or w.broadcast_id = p_broadcast)
        and exists (select from deskbell.retries r where r.push_service_id = service.id and r.broadcast_id = w.broadcast_id);
  end loop;
end $$;

-- Selects rows of one running broadcast whose push service must be probed now. If none is left, ends the suspension.
-- p_broadcast: 0 for any.
create function deskbell_functions.draw_probes(
  p_broadcast bigint, now_ms bigint, out broadcast bigint, out positions bigint[], out service int, out since_ms bigint
)
language plpgsql as $$
declare
  due record;
  are_last boolean;
begin
  perform from deskbell.push_services where suspended_since_ms is not null;
  if not found then return; end if;
  update deskbell.push_services set suspended_since_ms = null, refusals_in_row = 0
  where id in (
    select p.id from deskbell.push_services p
    where p.suspended_since_ms is not null and p.draws > 0
      and not exists (select from deskbell.retries r where r.push_service_id = p.id)
    for no key update skip locked);
  -- a later time than the longest pause was stored while the clock was ahead
  perform from deskbell.push_services where suspended_since_ms is not null
    and probe_at_ms not between now_ms + 1 and now_ms + :maxProbePauseMs;
  if not found then return; end if;
  select p.id, p.draws, p.suspended_since_ms, b.id as broadcast_id, b.expires_at_ms into due
    from deskbell_functions.suspended_work(p_broadcast) s
    join deskbell.push_services p on p.id = s.push_service_id
    join deskbell.broadcasts b on b.id = s.broadcast_id
    where p.suspended_since_ms is not null and p.probe_at_ms not between now_ms + 1 and now_ms + :maxProbePauseMs
      and b.start_at_ms <= now_ms
    order by p.probe_at_ms, random() limit 1
    for no key update of p skip locked;
  if not found then return; end if;
  broadcast := due.broadcast_id;
  service := due.id;
  since_ms := due.suspended_since_ms;
  select now_ms - since_ms >= :patienceMs and e.only_strangers and e.is_key_good into are_last
    from deskbell_functions.refusal_evidence(service, since_ms) e;
  positions := array(
    select position from deskbell.retries
    where broadcast_id = broadcast and push_service_id = due.id and draw_order < 0
    order by draw_order limit :knownProbeRows);
  positions := positions || array(
    select position from deskbell.retries
    where broadcast_id = broadcast and push_service_id = due.id and draw_order >= 0
    order by draw_order limit case when are_last then :lastProbeRows else :probeRows end - cardinality(positions));
  update deskbell.push_services set
    draws = due.draws + 1,
    -- probe often enough to notice the end of the refusals before the broadcast ends
    probe_at_ms = now_ms + case when are_last then :probePauseMs else greatest(:probePauseMs, least(
      :maxProbePauseMs, (due.expires_at_ms - now_ms) / 2,
      :probePauseMs * 2 ^ least(30, greatest(0, due.draws + 1 - :quickDraws))))::bigint end
  where id = due.id;
end $$;

-- Makes suspended rows due if their push service is open again.
create function deskbell_functions.release_suspended(p_broadcast bigint, max_rows int, now_ms bigint)
returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  open record;
  released int;
begin
  for open in
    select s.broadcast_id, s.push_service_id from deskbell_functions.suspended_work(p_broadcast) s
    where s.suspended_since_ms is null
  loop
    update deskbell.retries set due_at_ms = now_ms, push_service_id = null, draw_order = null
    where broadcast_id = open.broadcast_id and position in (
      select r.position from deskbell.retries r
      where r.broadcast_id = open.broadcast_id and r.push_service_id = open.push_service_id
      limit max_rows for no key update skip locked);
    get diagnostics released = row_count;
    if released > 0 then perform deskbell.wake_retries(open.broadcast_id, now_ms); end if;
    max_rows := max_rows - released;
    exit when max_rows = 0;
  end loop;
end $$;
