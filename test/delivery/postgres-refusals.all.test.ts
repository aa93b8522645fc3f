// The tests of push services that refuse or delete once more, with a store in PostgreSQL.
import '../store/use-postgres.ts';
import './gone-hook.test.ts';
import './held-deletions.all.test.ts';
import './refusals.all.test.ts';
import './refusals-that-end.all.test.ts';
