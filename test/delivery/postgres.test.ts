// The tests of broadcasts once more, with a store in PostgreSQL: each file that is imported adds its own. `postgres-more.all.test.ts` has
// more of them.
import '../store/use-postgres.ts';
import './expired.test.ts';
import './frequency-cap.test.ts';
import './resume-sending.test.ts';
