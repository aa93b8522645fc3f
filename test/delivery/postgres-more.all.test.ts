// More tests of broadcasts with a store in PostgreSQL. Those that ask no store, or are about a full disk under an SQLite file, are left out;
// `postgres-broadcast.all.test.ts`, `postgres-faults.all.test.ts` and `postgres-refusals.all.test.ts` run beside this file and have those that
// take long.
import '../store/use-postgres.ts';
import './estimate-audience.test.ts';
import './figures.test.ts';
import './max-rate.all.test.ts';
import './receipts.test.ts';
import './rotated-keys.test.ts';
import './row-outcomes.all.test.ts';
import './schedules.test.ts';
import './several-senders.test.ts';
import './watch-broadcasts.test.ts';
