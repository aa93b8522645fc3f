// A SQLite database with rows in every table that is copied, and with values that databases keep in different ways.
import { DatabaseSync } from 'node:sqlite';
import { openSqliteStore } from '../../src/store/sqlite/open-store.ts';
import { addSubscriptions } from './store-under-test.ts';

const fill = `
  update subscriptions set user_name = 'Zoë "ß" 日本' where id = 2;
  insert into subscription_tags (tag, subscription_id) values ('b', 2), ('a/ü', 2), ('"quoted"', 2), ('𝐀', 2), ('Ａ', 2), ('B', 3);
  update subscriptions set updated_at_ms = updated_at_ms + 5 where id = 3;
  delete from subscriptions where id = 6;
  update subscriptions set language = 'pt-BR', time_zone = 'Europe/Berlin', channels = '{"news":false,"a b":true}' where id = 2;
  insert into people (user_name, data, language, time_zone, channels, updated_at_ms)
    values ('Zoë "ß" 日本', '{"name":"Zoë","b":2.5,"a":1}', 'de', null, '{"news":true}', 7), ('other', '{}', null, 'UTC', null, 8);
  insert into channels (name, title, titles, is_on_by_default)
    values ('news', 'News', '{"de":"Nachrichten","af":"Nuus"}', 1), ('Äußerst', 'é', '{}', 0);
  insert into vapid_keys (public_key, state) values ('K1', 'current'), ('K2', 'previous');
  insert into audiences (id, members, created_at_ms) values (2, 3, 1000), (3, 2, 1000);
  insert into audience_sets (audience_id, number, in_partition, first_id, last_id, rows, ids)
    values (3, 0, 5, 1, 3, 2, x'0102'), (3, 1, null, 4, 4, 1, x'04');
  insert into audience_members (audience_id, position, endpoint, p256dh, auth)
    select 2, id, endpoint, p256dh, auth from subscriptions where id < 3;
  insert into audience_members (audience_id, position, endpoint, p256dh, auth)
    values (2, 3, 'https://updates.push.services.mozilla.com/wpush/v2/abc', zeroblob(65), x'00112233445566778899aabbccddeeff');
  insert into broadcasts (id, idempotency_key, content_hash, state, payload, ttl_seconds, urgency, topic, audience_id,
      rows_in, audience, created_at_ms, start_at_ms, expires_at_ms, finished_at_ms, removals_after, receipt_actions,
      user_name, per_person, attempts_dropped_at_ms)
    values (3, 'key', x'0102', 'paused', x'00ff', 60, 'high', 'tea', null, 'all', 5, 1, 2, 9007199254740991, null, 0,
            '["open"]', null, '3/day', null),
           (4, null, x'', 'running', x'', 60, 'low', null, 2, 'list', 3, 1, 2, 3, null, 0, null, 'Zoë', null, null),
           (8, null, x'', 'paused', x'', 60, 'low', null, 3, 'all', 2, 1, 2, 3, null, 0, null, null, null, null),
           (7, null, x'01', 'done', x'7b7d', 60, 'normal', null, null, 'list', 2, 1, 2, 3, 4, 1, null, null, null, 8),
           (9, null, x'01', 'cancelled', x'7b7d', 60, 'normal', null, null, 'all', 2, 1, 2, 3, 4, 0, null, null, null, null);
  delete from broadcasts where id = 9;
  insert into preparations (broadcast_id, expression, slice_rows, done_through, through_id, width, next_number, is_paused)
    values (8, '{"tags":{"all":["b"]}}', 2000, 4, 5, 64000, 2, 1);
  update broadcasts set channel = 'news', local_time = '2027-01-01T09:00', if_time_passed = 'skip', quiet_hours = '22:00-07:00',
      time_zone = 'Asia/Tokyo', skip_inactive = 10, inactive = 3, has_texts = 1, has_placeholders = 1 where id = 8;
  insert into broadcast_texts (broadcast_id, language, payload, recipients) values (8, 'pt-BR', x'00ff', 2), (8, 'de', x'7b7d', 0);
  update audience_sets set language = 'de', time_zone = 'Europe/Berlin', left_out = 1 where audience_id = 3 and number = 1;
  update preparations set split = '{"languages":["de","pt-BR"]}';
  insert into push_services (id, origin, vapid_public_key, refusals_in_row, refusals_to_suspend, suspended_since_ms, probe_at_ms, draws)
    values (5, 'https://fcm.googleapis.com', 'K1', 25, 20, 1234, 5678, 2);
  insert into accepted_subscriptions (push_service_id, slot, subscription_id) values (5, 1, 4711);
  insert into slices (broadcast_id, number, cursor, through_position) values (3, 0, 2, 3), (3, 1, 3, 5), (4, 0, 1, 3), (8, 0, 0, 3), (8, 1, 3, 4);
  -- free later
  update slices set lease_until_ms = 99 where broadcast_id = 8 and number = 1;
  insert into retries (broadcast_id, position, due_at_ms, attempts, deferrals, expires_at_ms, push_service_id, draw_order)
    values (3, 1, 99, 2, 1, 100, null, null), (3, 2, 99, 0, 0, 100, 5, -9007199254740991), (3, 6, 99, 1, 0, 100, null, null),
           (4, 1, 99, 1, 0, 100, null, null);
  update retries set doubts = 2 where broadcast_id = 3 and position = 1;
  update retries set language = 'de', time_zone = 'UTC' where broadcast_id = 4;
  insert into origin_counts (broadcast_id, origin, attempts, accepted, gone, rejected, expired, exhausted, capped, doubtful)
    values (3, 'https://fcm.googleapis.com', 7, 6, 5, 4, 3, 2, 1, 8), (7, 'http://a', 1, 1, 0, 0, 0, 0, 0, 0);
  insert into removed_rows (broadcast_id, shard, rows) values (3, 0, 2);
  insert into alarms (broadcast_id, origin, reason, detail, first_at_ms, rows)
    values (3, 'https://fcm.googleapis.com', 'vapid-refused', 'it''s', 1, 2);
  insert into answers (broadcast_id, id, origin, outcome, status, reason, detail)
    values (3, 5, 'http://a', 'rejected', 400, 'bad-ttl', 'é\\'), (3, 281474976710655, 'http://a', 'accepted', null, null, null);
  insert into answer_counts (broadcast_id, answer_id, rows, last_at_ms) values (3, 5, 7, 70);
  insert into attempt_sets (id, broadcast_id, at_ms, since_ms, outcome, attempt, answer_id, first_id, last_id, rows, ids)
    values (12, 3, 70, 60, 'rejected', 1, 5, 1, 3, 2, x'0102');
  insert into outcome_intervals (broadcast_id, width_ms, start_ms, push_service, attempts, accepted, gone, rejected, expired, exhausted, capped, doubtful)
    values (0, 0, 0, 'FCM', 7, 6, 5, 4, 3, 2, 1, 8), (0, 60000, 60000, 'FCM', 7, 6, 5, 4, 3, 2, 1, 8), (0, 60000, 60000, 'apple', 1, 1, 0, 0, 0, 0, 0, 0);
  insert into outcome_intervals
      (broadcast_id, start_ms, push_service, width_ms, attempts, accepted, gone, rejected, expired, exhausted, capped, doubtful)
    values (3, 60000, 'FCM', 1000, 7, 6, 5, 4, 3, 2, 1, 8), (3, 60000, 'apple', 1000, 1, 1, 0, 0, 0, 0, 0, 0);
  insert into receipt_windows (broadcast_id, ends_at_ms) values (3, 88);
  insert into receipts (broadcast_id, subscription_id, event) values (3, 1, 'shown'), (3, 1, 'clicked'), (3, 2, 'shown');
  insert into receipt_counts (broadcast_id, origin, event, action, count)
    values (3, 'http://a', 'clicked', '', 1), (3, 'http://a', 'clicked', 'open', 2), (3, 'http://a', 'shown', '', 9);
  insert into person_reaches (person, broadcast_id, at_ms, is_accepted) values ('user:Zoë', 3, 5, 1), ('subscription:1', 8, 6, 0);
  insert into gone_marks (subscription_id, origin, answer_window, marked_at_ms, updated_at_ms, is_held)
    values (4, 'http://a', 1, 50, 7, 0), (5, 'http://a', 1, 40, 7, 0), (3, 'http://b', 2, 60, 7, 0);
  update gone_marks set is_held = 1 where subscription_id <> 3;
  insert into answer_windows (id, origin, number, answers, accepted, is_of_pages, from_ms, marks_ms)
    values (8, 'http://a', 1, 100, 2, 1, 3, 4), (9, 'http://a', null, 5, 2, 0, 0, 0);
  insert into uncounted_answers (origin, answers, accepted) values ('http://a', 9, 8);
  insert into deletion_guards (origin, few_deleted) values ('http://a', 3);
  insert into ended_subscriptions (id, endpoint, gone_at_ms, user_name) values (6, 'http://a/6', 1, null), (7, 'http://a/7', 2, 'Zoë');
  insert into unlisted_push_services (origin, added_at_ms) values ('https://up.example.net', 1);
  insert into rate_limits (origin, permits, refilled_at_ms, queued_until_ms, sent_at_ms) values ('http://a', 0.1, 1, 2, 3);
  insert into operators (id, name, role, token_hash, created_at_ms) values (1, 'ada', 'full', zeroblob(32), 9), (5, 'x', 'read', randomblob(32), 9);
  delete from operators where id = 5;
  insert into operator_broadcasts (broadcast_id, operator_id) select min(id), 1 from broadcasts;
  insert into sending_pause (id, since_ms, reason, broadcast_ids) values (1, 5, 'restored', '[4]');
  insert into acknowledgements (alarm, operator, note, at_ms, count, broadcasts) values ('no-worker', 'ada', 'I know.', 3, 4, 1);
  insert into audit (at_ms, operator, action, target, status) values (1, 'ada', 'pause', null, null), (2, 'ada', 'pause', '3', 200);
  insert into schedules (id, cron, timezone, audience, user_name, message, ttl_seconds, urgency, topic, receipts, created_at_ms,
      next_at_ms, lease_until_ms, last_broadcast_id, per_person)
    values (2, '0 9 * * 1', 'Europe/Berlin', '{"tags":{"all":["a"],"none":["b"]}}', null,
            '{"title":"z","message":"a","data":{"b":1,"a":[2.5,null]}}', 60, 'high', null, 1, 1, 2, 3, null, '1/week');
  update schedules set channel = 'news', local_time = '09:00', time_zone = 'Asia/Tokyo';
  insert into message_requests (key, content_hash, at_ms, answer)
    values ('order-7', randomblob(32), 1, '[]'), ('order-8', randomblob(32), 2, null);
  insert into invitations (token_hash, user_name, expires_at_ms, consumed_by)
    values (zeroblob(32), 'Zoë', 9007199254740991, null), (randomblob(32), 'x', 2, '00ff');
  insert into webhook_events (id, type, at_ms, due_at_ms, attempts, broadcast_id, subscription_id, user_name, origin, reason, detail, rows)
    values ('0a', 'alarm', 1, 2, 3, 4, null, null, 'http://a', 'r', 'd', 5), ('0b', 'subscription.gone', 1, 2, 3, null, 6, 'Zoë', null, null, null, null);
  insert into bells (id, name, secret_hash, audience, user_name, settings, created_at_ms, minute, rung, folded_into, folded_minute, folded, folded_since_ms)
    values (2, 'Zoë''s', randomblob(32), '{"user":"Zoë"}', 'Zoë', '{"title":"é"}', 1, 2, 3, 4, 5, 6, 7), (3, 'all', randomblob(32), '"all"', null, '{}', 1, 0, 0, null, 0, 0, 0);
  insert into bell_requests (id, bell_id, at_ms, tool, outcome, broadcast_id, left_out, shape)
    values (5, 2, 1, 'JSON', 'rung', 4, 'an icon', '{"é":"text"}'), (6, 3, 2, 'Text', 'nothing', null, null, null);
  insert into webhook_watch (id, seen_at_ms) values (1, unixepoch() * 1000);
`;

/** Tables that are of the process or of SQLite, not of the data. */
const notCompared = new Set(['senders', 'sqlite_stat1']);

export async function fillDatabase(path: string): Promise<void> {
  const store = await openSqliteStore({ path });
  await addSubscriptions(store, 6);
  await store.close();
  const database = new DatabaseSync(path);
  database.exec(fill);
  database.close();
}

/** All rows of all tables, each in the order of its values. */
export function dumpDatabase(path: string): Readonly<Record<string, readonly string[]>> {
  const database = new DatabaseSync(path);
  try {
    const tables = database
      .prepare("select name from sqlite_schema where type = 'table' order by name")
      .all();
    return Object.fromEntries(
      tables
        .map(({ name }) => String(name))
        .filter((name) => !notCompared.has(name))
        .map((name) => {
          const rows = database.prepare(`select * from "${name}"`).all();
          return [name, rows.map((row) => JSON.stringify(row)).sort()];
        }),
    );
  } finally {
    database.close();
  }
}
