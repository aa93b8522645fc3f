-- What moves from a former subscription to the one that takes its place: language, time zone and choices, each unless that one
-- has its own; user and tags, unless that one has any, or they are assigned.

-- @returns the hashes of those that have got something
create function deskbell_functions.move_from_former_subscriptions(hashes uuid[], options jsonb[], refused uuid[])
returns uuid[] language plpgsql as $$
declare
  moved record;
  changed uuid[] := '{}';
begin
  for moved in
    select given.hash, f.endpoint_hash as former_hash, f.user_name, f.tags, f.language, f.time_zone, f.channels,
      not given.options ? 'assign' and (f.user_name is not null or f.tags is not null) as has_owner
    from unnest(hashes, options) as given (hash, options)
    join deskbell.subscriptions f on f.endpoint_hash = (given.options #>> '{former,hash}')::uuid
      and deskbell_functions.is_same_secret(f.auth, decode(given.options #>> '{former,auth}', 'hex'))
    where given.options ? 'former' and f.endpoint_hash <> given.hash and not given.hash = any (refused)
    for no key update of f
  loop
    if coalesce(moved.language, moved.time_zone, moved.channels) is not null then
      update deskbell.subscriptions s set
        language = coalesce(s.language, moved.language),
        time_zone = coalesce(s.time_zone, moved.time_zone),
        channels = coalesce(s.channels, moved.channels)
      where s.endpoint_hash = moved.hash;
      changed := array_append(changed, moved.hash);
    end if;
    if moved.has_owner then
      update deskbell.subscriptions s set user_name = moved.user_name, tags = moved.tags
        where s.endpoint_hash = moved.hash and s.user_name is null and s.tags is null;
      if found then
        update deskbell.subscriptions s set user_name = null, tags = null where s.endpoint_hash = moved.former_hash;
        changed := array_append(changed, moved.hash);
      end if;
    end if;
  end loop;
  return changed;
end $$;
