-- Reads the rows of a slice.

-- Rows of a slice behind a position, in order, as one row of texts: reading them takes a third of the time that as many
-- rows take. What has left the store is left out. keys: p256dh and auth, 81 bytes in hexadecimal digits each.
create function deskbell_functions.read_rows(p_broadcast bigint, slice int, after bigint, through bigint, max_rows int)
returns table (
  positions text, subscription_ids text, endpoints text, keys text, vapid_key_ids text, updated_at_ms text
) language plpgsql
-- planning for all partitions takes longer than reading a page of them: it is done once, for the index of ids
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  head record;
begin
  select b.rows_in, b.audience_id into head from deskbell.broadcasts b where b.id = p_broadcast;
  if head.rows_in = 'list' then
    return query
      select string_agg(m.position::text, ',' order by m.position),
             string_agg(''::text, ','),
             string_agg(m.endpoint, chr(10) order by m.position),
             string_agg(encode(m.p256dh || m.auth, 'hex'), '' order by m.position),
             string_agg(coalesce(s.vapid_key_id::text, ''), ',' order by m.position),
             string_agg(''::text, ',')
      from (
        select * from deskbell.audience_members
        where audience_id = head.audience_id and position > after and position <= through
        order by position limit max_rows
      ) m
      left join deskbell.subscriptions s on s.endpoint_hash = m.endpoint_hash;
    return;
  end if;
  if head.rows_in = 'all' then
    return query
      select :pageColumns
      from (select * from deskbell.subscriptions where id > after and id <= through order by id limit max_rows) s;
    return;
  end if;
  return query execute format($page$
    select :pageColumns
    from (select * from deskbell.subscriptions_%s where id > $1 and id <= $2 order by id limit $3) s
  $page$, slice % :partitions)
    using after, through, max_rows;
end $$;

-- Rows with these ids, in order, likewise; of a partition, or of any where it is null. At most max_rows.
create function deskbell_functions.read_members(p_partition int, ids bigint[], max_rows int)
returns table (
  positions text, subscription_ids text, endpoints text, keys text, vapid_key_ids text, updated_at_ms text
) language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
  if p_partition is null then
    return query
      select :pageColumns
      from (select * from deskbell.subscriptions where id = any (ids) order by id limit max_rows) s;
    return;
  end if;
  return query execute format($page$
    select :pageColumns
    from (select * from deskbell.subscriptions_%s where id = any ($1) order by id limit $2) s
  $page$, p_partition)
    using ids, max_rows;
end $$;
