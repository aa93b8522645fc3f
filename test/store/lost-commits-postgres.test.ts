// The tests of lost commits once more, with a store in PostgreSQL.
import { usePostgres } from './test-database.ts';

usePostgres();

await import('./lost-commits.test.ts');
