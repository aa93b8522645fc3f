// What operators see and do, once more with a store in PostgreSQL: each file that is imported adds its own tests. Left out are
// those that ask no store: of the Host and Origin check, of the description document, and of the recipes' programs.
import '../store/use-postgres.ts';
import './api.test.ts';
import './console-pages.test.ts';
import './live-pages.test.ts';
import './metrics.test.ts';
import './oracle.all.test.ts';
import './outcomes.test.ts';
import './webhook.test.ts';
