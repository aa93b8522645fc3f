// The tests of broadcasts once more, with a store in PostgreSQL: each file that is imported adds its own. `postgres-more.all.test.ts` has
// more of them.
import '../store/use-postgres.ts';
import './unsent.test.ts';
