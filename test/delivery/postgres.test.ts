// The tests of broadcasts once more, with a store in PostgreSQL: each file that is imported adds its own. Those that ask no
// store, or are about a full disk under an SQLite file, are left out; `postgres-broadcast.all.test.ts`, `postgres-faults.all.test.ts` and
// `postgres-refusals.all.test.ts` run beside this file and have those that take long.
import '../store/use-postgres.ts';
import './estimate-audience.test.ts';
import './expired.test.ts';
import './figures.test.ts';
import './max-rate.all.test.ts';
import './frequency-cap.test.ts';
import './receipts.test.ts';
import './resume-sending.test.ts';
import './rotated-keys.test.ts';
import './row-outcomes.all.test.ts';
import './schedules.test.ts';
import './shared-waits.test.ts';
import './watch-broadcasts.test.ts';
import './wrong-clock.test.ts';
