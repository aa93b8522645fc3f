// Reports of senders in SQLite.
import { reportLifetimeMs, type SenderReport, type SenderReports } from '../senders.ts';
import type { SqliteDatabase } from './sqlite-database.ts';

interface ReportRow {
  readonly seen_at_ms: number;
  readonly report: string;
}

export function createSqliteSenders(database: SqliteDatabase): SenderReports {
  const put = database.prepare<{ id: string; nowMs: number; startedAtMs: number; report: string }>(`
    insert into senders (id, started_at_ms, seen_at_ms, report) values (:id, :startedAtMs, :nowMs, :report)
    on conflict (id) do update set seen_at_ms = excluded.seen_at_ms, report = excluded.report
  `);
  const forget = database.prepare<{ beforeMs: number }>('delete from senders where seen_at_ms < :beforeMs');
  const remove = database.prepare<{ id: string }>('delete from senders where id = :id');
  const list = database.prepare<{ sinceMs: number }, ReportRow>(
    'select seen_at_ms, report from senders where seen_at_ms >= :sinceMs order by started_at_ms, id',
  );

  return {
    put: (report) =>
      database.write(() => {
        const nowMs = database.now();
        const { id, startedAtMs } = report;
        put.run({ id, startedAtMs, nowMs, report: JSON.stringify(report) });
        forget.run({ beforeMs: nowMs - reportLifetimeMs });
      }),
    remove: (id) =>
      database.write(() => {
        remove.run({ id });
      }),
    list: () =>
      database.read(() =>
        list.all({ sinceMs: database.now() - reportLifetimeMs }).map(({ seen_at_ms, report }) => ({
          ...(JSON.parse(report) as SenderReport),
          seenAtMs: seen_at_ms,
        })),
      ),
  };
}
