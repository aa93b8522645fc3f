-- Creates broadcasts.

-- Writes a broadcast and its slices, or finds the one that has the key.
create function deskbell_functions.create_broadcast(
  given_ms bigint, its_creation text, its_key text, its_hash bytea, its_payload bytea, its_ttl bigint,
  its_urgency text, its_topic text, its_audience_id bigint, its_user text, its_per_person text,
  its_receipt_actions text, its_rows_in text, its_audience bigint,
  its_start bigint, its_expiry bigint, numbers int[], cursors bigint[], throughs bigint[]
) returns table (id bigint, is_new boolean) language plpgsql as $$
#variable_conflict use_column
declare
  now_ms bigint := deskbell_functions.clock(given_ms);
  made bigint;
begin
  insert into deskbell.broadcasts (
    creation, idempotency_key, content_hash, state, payload, ttl_seconds, urgency, topic, audience_id, user_name,
    per_person, receipt_actions, rows_in, audience,
    created_at_ms, start_at_ms, expires_at_ms, finished_at_ms
  ) values (
    its_creation, its_key, its_hash, case when its_audience = 0 then 'done' else 'running' end, its_payload, its_ttl,
    its_urgency, its_topic, its_audience_id, its_user, its_per_person, its_receipt_actions, its_rows_in, its_audience,
    now_ms, its_start, its_expiry, case when its_audience = 0 then now_ms end
  ) on conflict do nothing returning broadcasts.id into made;
  if made is null then
    return query select b.id, b.creation = its_creation from deskbell.broadcasts b
      where b.creation = its_creation or b.idempotency_key = its_key;
    return;
  end if;
  if its_receipt_actions is not null then
    insert into deskbell.receipt_windows (broadcast_id, ends_at_ms)
      values (made, greatest(its_start, now_ms) + :receiptWindowMs);
  end if;
  insert into deskbell.slices (broadcast_id, number, cursor, through_position)
    select made, s.number, s.cursor, s.through
    from unnest(numbers, cursors, throughs) as s (number, cursor, through);
  delete from deskbell.attempts where broadcast_id <=
    (select b.id from deskbell.broadcasts b order by b.id desc limit 1 offset :maxLoggedBroadcasts);
  return query select made, true;
end $$;
