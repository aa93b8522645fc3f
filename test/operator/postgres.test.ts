// What operators see and do, once more with a store in PostgreSQL: each file that is imported adds its own tests. Left out are
// those that ask no store: of the Host and Origin check, of the description document, and of the recipes' programs.
import { usePostgres } from '../store/test-database.ts';

usePostgres();

await import('./authorize.test.ts');
await import('./api.test.ts');
await import('./console-pages.test.ts');
await import('./events.test.ts');
await import('./metrics.test.ts');
await import('./push-services.test.ts');
await import('./webhook.test.ts');
