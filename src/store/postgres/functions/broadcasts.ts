// Functions of the database that create, read and finish broadcasts.

import { receiptWindowMs } from '../../receipts.ts';

/** Newest broadcasts whose attempts are kept. */
const maxLoggedBroadcasts = 100;

/** @param schema where the functions are */
export const broadcastFunctions = (schema: string): string => `
  -- Writes a broadcast and its slices, or finds the one that has the key.
  create function ${schema}.create_broadcast(
    given_ms bigint, its_creation text, its_key text, its_hash bytea, its_payload bytea, its_ttl bigint,
    its_urgency text, its_topic text, its_audience_id bigint, its_user text, its_per_person text,
    its_receipt_actions text, its_rows_in text, its_audience bigint,
    its_start bigint, its_expiry bigint, numbers int[], cursors bigint[], throughs bigint[]
  ) returns table (id bigint, is_new boolean) language plpgsql as $$
  #variable_conflict use_column
  declare
    now_ms bigint := ${schema}.clock(given_ms);
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
        values (made, greatest(its_start, now_ms) + ${receiptWindowMs});
    end if;
    insert into deskbell.slices (broadcast_id, number, cursor, through_position)
      select made, s.number, s.cursor, s.through
      from unnest(numbers, cursors, throughs) as s (number, cursor, through);
    delete from deskbell.attempts where broadcast_id <=
      (select b.id from deskbell.broadcasts b order by b.id desc limit 1 offset ${maxLoggedBroadcasts});
    return query select made, true;
  end $$;

  -- Finishes the broadcast where no slice and no retry is left; the alarms that this raises.
  create function ${schema}.finish_if_over(of_broadcast bigint, now_ms bigint) returns jsonb language plpgsql as $$
  begin
    -- of two workers that take the last rows away at once, the second one waits here and then sees that nothing is left
    perform from deskbell.broadcasts where id = of_broadcast and state in ('running', 'paused') for no key update;
    if not found
      or exists (select from deskbell.slices where broadcast_id = of_broadcast)
      or exists (select from deskbell.retries where broadcast_id = of_broadcast) then
      return '[]';
    end if;
    update deskbell.broadcasts set state = 'done', finished_at_ms = now_ms where id = of_broadcast;
    return ${schema}.judge_marks(of_broadcast, now_ms);
  end $$;

  -- Finishes the broadcasts that have outlived their message and that no worker holds anything of: what has no outcome is
  -- expired.
  create function ${schema}.finish_overdue(now_ms bigint) returns void language plpgsql as $$
  declare
    overdue bigint;
  begin
    for overdue in
      select b.id from deskbell.broadcasts b
      where b.state = 'running' and b.expires_at_ms <= now_ms
        and not exists (select from deskbell.slices s where s.broadcast_id = b.id and s.lease_until_ms > now_ms)
        and not exists (select from deskbell.retries r
                        where r.broadcast_id = b.id and r.token is not null and r.due_at_ms > now_ms)
      for no key update skip locked
    loop
      -- first these: a commit that is on its way is waited for, and counted
      delete from deskbell.slices where broadcast_id = overdue;
      delete from deskbell.retries where broadcast_id = overdue;
      update deskbell.broadcasts set state = 'done', finished_at_ms = now_ms,
        expired_unread = audience - coalesce((
          select sum(accepted + gone + rejected + expired + exhausted + capped)
          from deskbell.origin_counts where broadcast_id = overdue), 0)
      where id = overdue;
      perform ${schema}.judge_marks(overdue, now_ms);
    end loop;
  end $$;
`;
