-- Gives out shares of rate limits: see ../../rate-shares.ts.

create function deskbell_functions.take_rate_share(
  p_now_ms bigint, p_origin text, per_second double precision, wanted int, put_off int,
  out granted int, out queue_ms bigint
) language plpgsql as $$
declare
  now_ms bigint := deskbell_functions.clock(p_now_ms);
  room double precision := greatest(1, per_second * :burstSeconds);
  interval_ms double precision := 1000 / per_second;
  known deskbell.rate_limits;
  saved double precision;
  is_abandoned boolean;
  queued_until bigint;
begin
  insert into deskbell.rate_limits (origin, permits, refilled_at_ms, queued_until_ms, sent_at_ms)
    values (p_origin, room, now_ms, now_ms, now_ms) on conflict do nothing;
  select * into known from deskbell.rate_limits where origin = p_origin for update;
  saved := least(room, known.permits + greatest(0, now_ms - known.refilled_at_ms) * per_second / 1000);
  granted := least(wanted, floor(saved));
  is_abandoned := now_ms - known.sent_at_ms > greatest(:abandonedAfterMs, 2 * interval_ms);
  queued_until := ceil(
    case when is_abandoned then now_ms else greatest(now_ms, known.queued_until_ms) end + put_off * interval_ms);
  queue_ms := queued_until - now_ms;
  update deskbell.rate_limits set
    permits = saved - granted,
    -- of two requests, the one that was asked for earlier may come later
    refilled_at_ms = greatest(now_ms, known.refilled_at_ms),
    queued_until_ms = queued_until,
    sent_at_ms = case when granted > 0 or is_abandoned then now_ms else known.sent_at_ms end
  where origin = p_origin;
end $$;
