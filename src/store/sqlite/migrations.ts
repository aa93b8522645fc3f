// How the database came to its present form. Numbered by position from 1 (SQLite's `user_version`); an entry
// that has been released is never edited: a change is a new entry.

export const migrations: readonly string[] = [
  `
  create table vapid_keys (
    id integer primary key,
    public_key text not null unique
  ) strict;

  create table subscriptions (
    id integer primary key autoincrement,
    endpoint text not null unique check (length(endpoint) between 1 and 4096),
    p256dh blob not null check (length(p256dh) = 65),
    auth blob not null check (length(auth) = 16),
    vapid_key_id integer not null references vapid_keys (id),
    created_at_ms integer not null,
    updated_at_ms integer not null
  ) strict;

  -- narrow, so that counting a million rows reads ten megabytes and not the table
  create index subscriptions_by_vapid_key on subscriptions (vapid_key_id);

  create table users (
    id integer primary key,
    name text not null,
    email text not null
  ) strict;

  insert into users (id, name, email) values (1, 'Ada Example', 'ada@example.org');
  `,
];
