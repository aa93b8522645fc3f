// The tests of whole broadcasts, of processes that are killed during one, and of those that differ by reader, once more with a store in PostgreSQL.
import { usePostgres } from '../store/test-database.ts';

usePostgres();

await import('./broadcast.test.ts');
await import('./crash.test.ts');
await import('./readers.test.ts');
