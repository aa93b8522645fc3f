-- Audiences of broadcasts.

-- Returns the highest id assigned, the last removal, and the number of subscriptions, at a moment when no transaction
-- adds or removes any. Waits for open transactions; new ones wait until this statement has ended.
create function deskbell_functions.freeze_subscriptions(out last_id bigint, out removals_after bigint, out rows bigint)
language plpgsql as $$
begin
  lock table deskbell.subscriptions_lock in share row exclusive mode;
  select case when is_called then last_value else 0 end into last_id from deskbell.subscriptions_id_seq;
  select case when is_called then last_value else 0 end into removals_after from deskbell.removals_id_seq;
  select coalesce(sum(subscriptions), 0) into rows from deskbell.subscription_counts;
end $$;

-- Adds subscriptions, stored or not, to a list. Skips those that are already in it.
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
