// The tests of faults between sender and push service once more, with a store in PostgreSQL.
import '../store/use-postgres.ts';
import './faults-connections.all.test.ts';
import './faults-origins.all.test.ts';
import './faults-outage.all.test.ts';
import './faults-statuses.test.ts';
