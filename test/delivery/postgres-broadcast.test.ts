// The tests of whole broadcasts, and of processes that are killed during one, once more with a store in PostgreSQL.
import { usePostgres } from '../store/test-database.ts';

usePostgres();

await import('./broadcast.test.ts');
await import('./crash.test.ts');
