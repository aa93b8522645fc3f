-- Alarms of broadcasts.

-- Raises an alarm, or counts it; null where the broadcast has it already.
create function deskbell_functions.raise_alarm(
  p_broadcast bigint, p_origin text, p_reason text, p_detail text, p_rows bigint, now_ms bigint
) returns jsonb language plpgsql as $$
declare
  all_rows bigint;
begin
  insert into deskbell.alarms as a (broadcast_id, origin, reason, detail, first_at_ms, rows)
    values (p_broadcast, p_origin, p_reason, p_detail, now_ms, p_rows)
    on conflict (broadcast_id, origin, reason) do update set rows = a.rows + excluded.rows
    returning rows into all_rows;
  if all_rows > p_rows then return null; end if;
  return jsonb_build_object('origin', p_origin, 'reason', p_reason, 'detail', p_detail,
    'firstAtMs', now_ms, 'rows', p_rows);
end $$;

-- Raises the alarm that subscriptions are kept; null where the broadcast has it already.
create function deskbell_functions.raise_held(p_broadcast bigint, p_origin text, held bigint, now_ms bigint)
returns jsonb language plpgsql as $$
begin
  if held = 0 then return null; end if;
  return deskbell_functions.raise_alarm(p_broadcast, p_origin, :heldDeletionsReason,
    replace(:heldDeletionsDetail, '{origin}', p_origin), held, now_ms);
end $$;
