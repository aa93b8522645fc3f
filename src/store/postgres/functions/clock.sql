-- The time: of the database's clock, or as given
create function deskbell_functions.clock(p_now_ms bigint) returns bigint language sql volatile as $$
  select coalesce(p_now_ms, (extract(epoch from clock_timestamp()) * 1000)::bigint)
$$;
