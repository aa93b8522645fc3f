// The tests of push services that refuse or delete once more, with a store in PostgreSQL.
import { usePostgres } from '../store/test-database.ts';

usePostgres();

await import('./gone-hook.test.ts');
await import('./held-deletions.test.ts');
await import('./refusals.test.ts');
await import('./refusals-that-end.test.ts');
