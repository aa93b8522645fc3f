// The tests of lost commits once more, with a store in PostgreSQL.
import './use-postgres.ts';
import './lost-commits.test.ts';
