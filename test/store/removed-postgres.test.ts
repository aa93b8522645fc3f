// The tests of removed rows once more, with a store in PostgreSQL.
import { usePostgres } from './test-database.ts';

usePostgres();

await import('./removed.test.ts');
