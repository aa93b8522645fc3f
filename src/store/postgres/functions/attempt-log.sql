-- The attempt log.

-- adds what was tried to the attempt log, as far as there is room in it
create function deskbell_functions.log_attempts(p_broadcast bigint, records jsonb)
returns void language plpgsql as $$
declare
  log record;
begin
  if jsonb_array_length(records) = 0 then return; end if;
  select logged_accepted, logged_others into log from deskbell.broadcasts where id = p_broadcast for no key update;
  with tried as (
    select r.*, row_number() over (partition by r."outcome" = 'accepted' order by r.number) as place
    from rows from (jsonb_to_recordset(records) as (
      "subscriptionId" bigint, "atMs" bigint, "origin" text, "attempt" int, "outcome" text,
      "status" int, "reason" text, "detail" text)) with ordinality as r (
      "subscriptionId", "atMs", "origin", "attempt", "outcome", "status", "reason", "detail", number)
  ), added as (
    insert into deskbell.attempts
      (broadcast_id, subscription_id, at_ms, origin, attempt, outcome, status, reason, detail)
    select p_broadcast, t."subscriptionId", t."atMs", t."origin", t."attempt", t."outcome", t."status", t."reason",
           t."detail"
    from tried t
    where t.place <= case when t."outcome" = 'accepted' then :maxAcceptedPerBroadcast - log.logged_accepted
                          else :maxOthersPerBroadcast - log.logged_others end
    order by t.number
    returning outcome
  )
  update deskbell.broadcasts set
    logged_accepted = logged_accepted + (select count(*) from added where outcome = 'accepted'),
    logged_others = logged_others + (select count(*) from added where outcome <> 'accepted')
  where id = p_broadcast;
end $$;
