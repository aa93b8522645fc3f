// The tests of held deletions once more, with a store in PostgreSQL.
import '../store/use-postgres.ts';
import './held-deletions.all.test.ts';
