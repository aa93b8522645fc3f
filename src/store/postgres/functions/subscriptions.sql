-- Stores and removes subscriptions.

-- Returns the time, by the database's clock unless the caller has its own.
create function deskbell_functions.clock(p_now_ms bigint) returns bigint language sql volatile as $$
  select coalesce(p_now_ms, (extract(epoch from clock_timestamp()) * 1000)::bigint)
$$;

-- Converts a JSON array of tags to the stored form.
create function deskbell_functions.read_tags(given jsonb) returns text[] language sql immutable strict as $$
  select array_agg(tag order by tag collate "C") from jsonb_array_elements_text(given) tag
$$;

-- Compares hashes, whose bytes nobody can choose, so the time does not reveal where two secrets differ.
create function deskbell_functions.is_same_secret(one bytea, other bytea) returns boolean language sql immutable as $$
  select sha256(one) = sha256(other)
$$;

-- The row that a browser had before it registered a new endpoint.
create type deskbell_functions.same_browser as (
  hash uuid, former_hash uuid, p256dh bytea, user_name text, tags text[], language text, time_zone text, channels text
);

-- For endpoints that are not in "known": finds the row with both keys at the same push service, if there is exactly
-- one and it is anonymous or has the same user. No index spans all partitions, so each is searched.
create function deskbell_functions.same_browsers(
  hashes uuid[], endpoints text[], p256dhs bytea[], auths bytea[], options jsonb[], known uuid[]
) returns setof deskbell_functions.same_browser language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
  return query
    select given.hash, s.endpoint_hash, s.p256dh, s.user_name, s.tags, s.language, s.time_zone, s.channels
    from unnest(hashes, endpoints, p256dhs, auths, options) as given (hash, endpoint, p256dh, auth, options)
    cross join lateral (
      select k.*, count(*) over () as rows
      from (select * from deskbell.subscriptions o
            where substr(o.p256dh, 2, 8) = substr(given.p256dh, 2, 8) limit :maxRowsOfKey) k
      where k.p256dh = given.p256dh and deskbell_functions.is_same_secret(k.auth, given.auth)
        and substring(k.endpoint from '^[^/]*//[^/]*') = substring(given.endpoint from '^[^/]*//[^/]*')
    ) s
    where given.options ? 'proof' and not given.hash = any (known)
      and s.rows = 1 and (s.user_name is null or s.user_name = given.options #>> '{assign,user}');
end $$;

-- Inserts rows, or replaces the keys of rows whose endpoint is stored. Endpoints must be unique. Returns the
-- resulting rows, except those that may not be changed; if a hash is returned twice, the last row is right. A
-- statement that may need any partition opens all of them, which costs as much as ten inserts, so statements with
-- nothing to do are skipped.
-- options: null, or an object with any of
--   assign       {user, tags} that replace those of the row
--   proof        {auth, user}: a stored row may only be changed with its auth (hexadecimal digits) or by its user
--   createdAtMs  of a new row
--   isImported   no browser was here: a new row has updated_at_ms 0
--   language, timeZone   if omitted, a row keeps its own
--   channels     choices, for channels for which the row has none
create function deskbell_functions.put_subscriptions(
  p_now_ms bigint, hashes uuid[], endpoints text[], p256dhs bytea[], auths bytea[], public_keys text[], options jsonb[]
) returns table (
  hash uuid, id bigint, created_at_ms bigint, updated_at_ms bigint, user_name text, tags text[],
  language text, time_zone text, channels text
)
language plpgsql
-- the rows are few compared with the table, whatever the planner knows about its size at the first call
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  now_ms bigint := deskbell_functions.clock(p_now_ms);
  permitted uuid[];
  others uuid[];
  changed uuid[] := '{}';
  refused uuid[] := '{}';
  same deskbell_functions.same_browser[] := '{}';
  inserted int;
  replaced_ids bigint[];
begin
  -- lock this before any row: otherwise this function and freeze_subscriptions could wait for each other
  lock table deskbell.subscriptions_lock in row exclusive mode;
  insert into deskbell.vapid_keys (public_key)
    select distinct given.key from unnest(public_keys) as given (key)
    where not exists (select from deskbell.vapid_keys v where v.public_key = given.key)
    on conflict do nothing;

  -- repeat if another process has just inserted or deleted one of them
  loop
    with there as (
      select s.endpoint_hash as hash,
        not coalesce(given.options ? 'proof', false)
          or deskbell_functions.is_same_secret(s.auth, given.auth)
          or coalesce(deskbell_functions.is_same_secret(s.auth, decode(given.options #>> '{proof,auth}', 'hex')), false)
          or coalesce(s.user_name = given.options #>> '{proof,user}', false) as is_permitted
      from unnest(hashes, auths, options) as given (hash, auth, options)
      join deskbell.subscriptions s on s.endpoint_hash = given.hash
      where not given.hash = any (changed || refused)
      order by s.endpoint_hash for no key update of s
    )
    select coalesce(array_agg(hash) filter (where is_permitted), '{}'),
           coalesce(array_agg(hash) filter (where not is_permitted), '{}')
      into permitted, others from there;
    refused := refused || others;

    -- update first: an insert of an existing row would use up an id
    if cardinality(permitted) > 0 then
      update deskbell.subscriptions s set
        p256dh = given.p256dh,
        auth = given.auth,
        vapid_key_id = v.id,
        -- increases with every change of the row, even within one millisecond
        updated_at_ms = greatest(case when given.options ? 'isImported' then 0 else now_ms end, s.updated_at_ms + 1),
        user_name = case when given.options ? 'assign' then given.options #>> '{assign,user}' else s.user_name end,
        tags = case when given.options ? 'assign' then deskbell_functions.read_tags(given.options #> '{assign,tags}') else s.tags end,
        language = coalesce(given.options ->> 'language', s.language),
        time_zone = coalesce(given.options ->> 'timeZone', s.time_zone),
        channels = case when given.options ? 'channels'
          then ((given.options -> 'channels') || coalesce(s.channels, '{}')::jsonb)::text else s.channels end
      from unnest(hashes, p256dhs, auths, public_keys, options) as given (hash, p256dh, auth, public_key, options)
        join deskbell.vapid_keys v on v.public_key = given.public_key
      where s.endpoint_hash = given.hash and given.hash = any (permitted);
      changed := changed || permitted;
    end if;

    exit when cardinality(changed) + cardinality(refused) = cardinality(hashes);
    if exists (select from unnest(options) as given (options) where given.options ? 'proof') then
      same := array(select s from deskbell_functions.same_browsers(
        hashes, endpoints, p256dhs, auths, options, changed || refused) s);
    end if;
    return query
      insert into deskbell.subscriptions as s
        (endpoint_hash, created_at_ms, updated_at_ms, vapid_key_id, endpoint, p256dh, auth, user_name, tags, language, time_zone, channels)
      -- the exporter's clock may have been ahead
      select given.hash, least((given.options ->> 'createdAtMs')::bigint, now_ms),
             case when given.options ? 'isImported' then 0 else now_ms end, v.id,
             given.endpoint, given.p256dh, given.auth,
             case when given.options ? 'assign' then given.options #>> '{assign,user}' else f.user_name end,
             case when given.options ? 'assign' then deskbell_functions.read_tags(given.options #> '{assign,tags}') else f.tags end,
             coalesce(given.options ->> 'language', f.language), coalesce(given.options ->> 'timeZone', f.time_zone),
             coalesce(given.options ->> 'channels', f.channels)
      from unnest(hashes, endpoints, p256dhs, auths, public_keys, options) with ordinality
          as given (hash, endpoint, p256dh, auth, public_key, options, number)
        join deskbell.vapid_keys v on v.public_key = given.public_key
        left join unnest(same) f on f.hash = given.hash
      where not given.hash = any (changed || refused)
      order by given.number
      on conflict (endpoint_hash) do nothing
      returning s.endpoint_hash, s.id, s.created_at_ms, s.updated_at_ms, s.user_name, s.tags,
        s.language, s.time_zone, s.channels;
    get diagnostics inserted = row_count;
    if cardinality(same) > 0 then
      with replaced as (
        delete from deskbell.subscriptions s using unnest(same) f
          where s.endpoint_hash = f.former_hash and s.p256dh = f.p256dh and s.user_name is not distinct from f.user_name
          returning s.id
      )
      select array_agg(r.id) into replaced_ids from replaced r;
      update deskbell.losses l set reason = 'replaced' where l.subscription_id = any (replaced_ids);
    end if;
    exit when cardinality(changed) + cardinality(refused) + inserted = cardinality(hashes);
  end loop;

  if cardinality(changed) > 0 then
    return query
      select s.endpoint_hash, s.id, s.created_at_ms, s.updated_at_ms, s.user_name, s.tags,
        s.language, s.time_zone, s.channels
      from unnest(changed) as given (hash)
      join deskbell.subscriptions s on s.endpoint_hash = given.hash;
  end if;
end $$;

-- Returns subscriptions of a host whose endpoints have the prefix, in the order of ids, after an id.
create function deskbell_functions.push_service_page(host text, prefix text, after bigint, max_rows int)
returns setof deskbell.subscriptions language plpgsql
-- planning for all partitions takes longer than reading a page
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
as $$
begin
  return query
    -- compare rows, so that only the index of both columns has this order
    select s.* from deskbell.subscriptions s
    where (split_part(s.endpoint, '/', 3) collate "C", s.id) > (host, after)
      and (split_part(s.endpoint, '/', 3) collate "C", s.id) <= (host, :everyWindow)
      and starts_with(s.endpoint, prefix)
    order by split_part(s.endpoint, '/', 3) collate "C", s.id limit max_rows;
end $$;
