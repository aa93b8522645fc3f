// The tests of broadcasts once more, with a store in PostgreSQL: each file that is imported adds its own. Those that ask no
// store, or are about a full disk under an SQLite file, are left out; `postgres-broadcast.test.ts`, `postgres-faults.test.ts` and
// `postgres-refusals.test.ts` run beside this file and have those that take long.
import { usePostgres } from '../store/test-database.ts';

usePostgres();

await import('./estimate-audience.test.ts');
await import('./expired.test.ts');
await import('./figures.test.ts');
await import('./max-rate.test.ts');
await import('./frequency-cap.test.ts');
await import('./receipts.test.ts');
await import('./resume-sending.test.ts');
await import('./rotated-keys.test.ts');
await import('./row-outcomes.test.ts');
await import('./schedules.test.ts');
await import('./shared-waits.test.ts');
await import('./watch-broadcasts.test.ts');
await import('./wrong-clock.test.ts');
