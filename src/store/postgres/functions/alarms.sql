-- Alarms of broadcasts.

-- Raises an alarm, or counts it; null where the broadcast has it already.
create function deskbell_functions.raise_alarm(
  of_broadcast bigint, of_origin text, of_reason text, its_detail text, new_rows bigint, now_ms bigint
) returns jsonb language plpgsql as $$
declare
  all_rows bigint;
begin
  insert into deskbell.alarms as a (broadcast_id, origin, reason, detail, first_at_ms, rows)
    values (of_broadcast, of_origin, of_reason, its_detail, now_ms, new_rows)
    on conflict (broadcast_id, origin, reason) do update set rows = a.rows + excluded.rows
    returning rows into all_rows;
  if all_rows > new_rows then return null; end if;
  return jsonb_build_object('origin', of_origin, 'reason', of_reason, 'detail', its_detail,
    'firstAtMs', now_ms, 'rows', new_rows);
end $$;

-- Raises the alarm that subscriptions are kept; null where the broadcast has it already.
create function deskbell_functions.raise_held(of_broadcast bigint, of_origin text, held bigint, now_ms bigint)
returns jsonb language plpgsql as $$
begin
  if held = 0 then return null; end if;
  return deskbell_functions.raise_alarm(of_broadcast, of_origin, :heldDeletionsReason,
    replace(:heldDeletionsDetail, '{origin}', of_origin), held, now_ms);
end $$;
