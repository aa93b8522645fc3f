// The tests of faults between sender and push service once more, with a store in PostgreSQL.
import '../store/use-postgres.ts';
import './faults-connections.test.ts';
import './faults-meanwhile.test.ts';
import './faults-origins.test.ts';
import './faults-outage.test.ts';
import './faults-statuses.test.ts';
