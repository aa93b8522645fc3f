-- Results of rows: see ../../attempt-sets.ts.

-- Stores sets of rows, and the answers that they got. sets: [{answerId, outcome, attempt, sinceMs, firstId, lastId, rows}], and
-- their ids in the same order; answers: [{id, origin, outcome, status, reason, detail, rows}] in the order of their ids.
create function deskbell_functions.store_attempts(
  p_broadcast bigint, now_ms bigint, own_shard int, sets jsonb, set_ids bytea[], answers jsonb
) returns void language plpgsql as $$
begin
  if jsonb_array_length(answers) = 0 then return; end if;
  insert into deskbell.answers (broadcast_id, id, origin, outcome, status, reason, detail)
    select p_broadcast, a."id", a."origin", a."outcome", a."status", a."reason", a."detail"
    from jsonb_to_recordset(answers) as a (
      "id" bigint, "origin" text, "outcome" text, "status" int, "reason" text, "detail" text)
    on conflict do nothing;
  insert into deskbell.answer_counts as c (broadcast_id, answer_id, shard, rows, last_at_ms)
    select p_broadcast, a."id", own_shard, a."rows", now_ms
    from jsonb_to_recordset(answers) as a ("id" bigint, "rows" bigint)
    where a."rows" > 0
    on conflict (broadcast_id, answer_id, shard) do update set
      rows = c.rows + excluded.rows, last_at_ms = excluded.last_at_ms;
  insert into deskbell.attempt_sets
    (broadcast_id, at_ms, since_ms, outcome, attempt, answer_id, first_id, last_id, rows, ids)
    select p_broadcast, now_ms, coalesce(s."sinceMs", now_ms), s."outcome", s."attempt", s."answerId", s."firstId", s."lastId",
           s."rows", s.ids
    from rows from (
      jsonb_to_recordset(sets) as (
        "answerId" bigint, "outcome" text, "attempt" int, "sinceMs" bigint, "firstId" bigint, "lastId" bigint, "rows" int),
      unnest(set_ids)
    ) as s ("answerId", "outcome", "attempt", "sinceMs", "firstId", "lastId", "rows", ids);
end $$;
