-- What moves from a former subscription to the one that takes its place: user and tags, unless that one has any.

-- @returns the hashes of those that have got something
create function deskbell_functions.move_from_former_subscriptions(hashes uuid[], options jsonb[], refused uuid[])
returns uuid[] language plpgsql as $$
declare
  moved record;
  changed uuid[] := '{}';
begin
  for moved in
    select given.hash, f.endpoint_hash as former_hash, f.user_name, f.tags
    from unnest(hashes, options) as given (hash, options)
    join deskbell.subscriptions f on f.endpoint_hash = (given.options #>> '{former,hash}')::uuid
      and deskbell_functions.is_same_secret(f.auth, decode(given.options #>> '{former,auth}', 'hex'))
    where given.options ? 'former' and f.endpoint_hash <> given.hash and not given.hash = any (refused)
      and (f.user_name is not null or f.tags is not null)
    for no key update of f
  loop
    update deskbell.subscriptions s set user_name = moved.user_name, tags = moved.tags
      where s.endpoint_hash = moved.hash and s.user_name is null and s.tags is null;
    if found then
      update deskbell.subscriptions s set user_name = null, tags = null where s.endpoint_hash = moved.former_hash;
      changed := array_append(changed, moved.hash);
    end if;
  end loop;
  return changed;
end $$;
