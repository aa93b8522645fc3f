// What a cancelled broadcast leaves behind, in PostgreSQL.
import { usePostgres } from './test-database.ts';

usePostgres();

await import('./cancelled-slices.test.ts');
