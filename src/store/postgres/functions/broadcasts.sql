-- Creates broadcasts and their audiences.

-- The highest id given out, the last removal, and the number of subscriptions, at a moment when no transaction adds or removes any.
-- Waits for those that are open; others wait until this statement has ended.
create function deskbell_functions.freeze_subscriptions(out last_id bigint, out removals_after bigint, out rows bigint)
language plpgsql as $$
begin
  lock table deskbell.subscriptions_lock in share row exclusive mode;
  select case when is_called then last_value else 0 end into last_id from deskbell.subscriptions_id_seq;
  select case when is_called then last_value else 0 end into removals_after from deskbell.removals_id_seq;
  select coalesce(sum(subscriptions), 0) into rows from deskbell.subscription_counts;
end $$;

-- Adds subscriptions, stored or not, to a list. Those that are in it are skipped.
create function deskbell_functions.add_members(
  audience bigint, hashes uuid[], endpoints text[], p256dhs bytea[], auths bytea[]
) returns boolean language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  known bigint;
  added bigint;
begin
  select members into known from deskbell.audiences where id = audience for update;
  if not found then return false; end if;
  insert into deskbell.audience_members (audience_id, position, endpoint_hash, endpoint, p256dh, auth)
  select audience, known + row_number() over (order by new.number), new.hash, new.endpoint, new.p256dh, new.auth
  from (
    select distinct on (hash) *
    from unnest(hashes, endpoints, p256dhs, auths) with ordinality as given (hash, endpoint, p256dh, auth, number)
    order by hash, number
  ) new
  where not exists (
    select from deskbell.audience_members m
    where m.audience_id = audience and m.endpoint_hash = new.hash);
  get diagnostics added = row_count;
  update deskbell.audiences set members = known + added where id = audience;
  return true;
end $$;

-- Writes a broadcast and its slices, or finds the one that has the key. p_expression: whom its audience is to be filled with, of
-- the ids up to p_through, or null; then it waits. Where it is 'null', JSON, the sets of its audience are split.
create function deskbell_functions.create_broadcast(
  p_now_ms bigint, p_creation text, p_key text, p_hash bytea, p_payload bytea,
  p_options jsonb, p_audience_id bigint, p_user text,
  p_receipt_actions text, p_rows_in text, p_audience bigint,
  p_start bigint, p_expiry bigint, numbers int[], cursors bigint[], throughs bigint[],
  p_expression text, p_split text, p_slice_rows bigint, p_through bigint, p_removals_after bigint,
  p_asked_audience text, p_created_by text, languages text[], texts bytea[], p_has_placeholders int
) returns table (id bigint, is_new boolean) language plpgsql as $$
#variable_conflict use_column
declare
  now_ms bigint := deskbell_functions.clock(p_now_ms);
  made bigint;
begin
  insert into deskbell.broadcasts (
    creation, idempotency_key, content_hash, state, payload, audience_id, user_name,
    receipt_actions, rows_in, audience, asked_audience, created_by, has_texts, has_placeholders, removals_after,
    created_at_ms, start_at_ms, expires_at_ms, finished_at_ms, :optionColumns
  ) select
    p_creation, p_key, p_hash, 
    case when p_expression is not null then 'paused' when p_audience = 0 then 'done' else 'running' end, p_payload,
    p_audience_id, p_user, p_receipt_actions, p_rows_in, p_audience,
    p_asked_audience, p_created_by, least(cardinality(languages), 1), p_has_placeholders,
    -- a list knows its members without it
    coalesce(p_removals_after, (select last_value from deskbell.removals_id_seq)),
    now_ms, p_start, p_expiry, case when p_expression is null and p_audience = 0 then now_ms end, :optionColumns
  from jsonb_populate_record(null::deskbell.broadcasts, p_options)
  on conflict do nothing returning broadcasts.id into made;
  if made is null then
    return query select b.id, b.creation = p_creation from deskbell.broadcasts b
      where b.creation = p_creation or b.idempotency_key = p_key;
    return;
  end if;
  if p_receipt_actions is not null then
    insert into deskbell.receipt_windows (broadcast_id, ends_at_ms)
      values (made, greatest(p_start, now_ms) + :receiptWindowMs);
  end if;
  if cardinality(languages) > 0 then
    insert into deskbell.broadcast_texts (broadcast_id, language, payload)
      select made, t.language, t.payload from unnest(languages, texts) as t (language, payload);
  end if;
  insert into deskbell.slices (broadcast_id, number, cursor, through_position)
    select made, s.number, s.cursor, s.through
    from unnest(numbers, cursors, throughs) as s (number, cursor, through)
    union all
    select made, s.number, s.first_id - 1, s.last_id
    from deskbell.audience_sets s where s.audience_id = p_audience_id and p_expression is null
    -- so that those that are leased one after the other share pages
    order by 2;
  if p_expression is not null then
    insert into deskbell.preparations (broadcast_id, expression, split, slice_rows, through_id, width, next_number)
      select made, p_expression, p_split, p_slice_rows, coalesce(p_through, s.next), p_slice_rows * :partitions, s.next
      from (select coalesce(max(number) + 1, 0) as next from deskbell.audience_sets where audience_id = p_audience_id) s;
  end if;
  return query select made, true;
end $$;
