// The tests of whole broadcasts, of processes that are killed during one, and of those that differ by reader, once more with a store in PostgreSQL.
import '../store/use-postgres.ts';
import './broadcast.test.ts';
import './crash.test.ts';
import './reach.all.test.ts';
import './readers.test.ts';
