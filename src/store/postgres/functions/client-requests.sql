-- Counts the requests of clients.

-- Counts requests of clients. Each client is named by a hash, which also determines its place. If another client has
-- the place, it is replaced; each process then counts both by itself.
create function deskbell_functions.count_requests(p_now_ms bigint, clients uuid[], windows_ms bigint[], numbers int[])
returns table (client uuid, requests int, ends_in_ms bigint) language plpgsql as $$
#variable_conflict use_column
declare
  now_ms bigint := deskbell_functions.clock(p_now_ms);
begin
  return query
    insert into deskbell.client_requests as c (place, client, requests, ends_at_ms)
    select distinct on (g.place) g.place, g.client, g.number, now_ms + g.window_ms
    from (
      select ('x' || left(client::text, 8))::bit(32)::bigint % :clientPlaces as place, client, window_ms, number
      from unnest(clients, windows_ms, numbers) as given (client, window_ms, number)
    ) g
    -- in the same order everywhere, to prevent deadlocks
    order by g.place, g.number desc
    on conflict (place) do update set
      client = excluded.client,
      requests = excluded.requests + case when c.client = excluded.client and c.ends_at_ms > now_ms then c.requests else 0 end,
      ends_at_ms = case when c.client = excluded.client and c.ends_at_ms > now_ms then c.ends_at_ms else excluded.ends_at_ms end
    returning client, requests, ends_at_ms - now_ms;
end $$;
