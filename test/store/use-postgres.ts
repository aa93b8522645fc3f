// Imported before other test files, which it gives databases in PostgreSQL. They are imported by statements, so that all of their
// tests are known before the first one runs: a server stops when those that are known have run.
import { usePostgres } from './test-database.ts';

usePostgres();
