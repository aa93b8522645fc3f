// What a cancelled broadcast leaves behind, in PostgreSQL.
import './use-postgres.ts';
import './cancelled-slices.test.ts';
