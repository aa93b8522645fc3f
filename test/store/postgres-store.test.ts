// The store in PostgreSQL: what every store must do; `postgres-store.all.test.ts` has the rest.
import './use-postgres.ts';
import './broadcast-suite.ts';
import './cancelled-slices-suite.ts';
import './invitations-suite.ts';
import './lost-commits-suite.ts';
import './push-services-suite.ts';
import './registration-suite.ts';
import './store-suite.ts';
