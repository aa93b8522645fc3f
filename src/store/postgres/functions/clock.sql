-- The time: of the database's clock, or as given
create function deskbell_functions.clock(given_ms bigint) returns bigint language sql volatile as $$
  select coalesce(given_ms, (extract(epoch from clock_timestamp()) * 1000)::bigint)
$$;
