// The tests of faults between sender and push service once more, with a store in PostgreSQL.
import { usePostgres } from '../store/test-database.ts';

usePostgres();

await import('./faults-connections.test.ts');
await import('./faults-meanwhile.test.ts');
await import('./faults-origins.test.ts');
await import('./faults-outage.test.ts');
await import('./faults-statuses.test.ts');
