// Copies a SQLite file to another database, and kills itself once so many subscriptions are copied or compared.
import { copyStore } from '../../src/store/copy/copy-store.ts';
import { openPostgresTarget } from '../../src/store/copy/postgres-copy.ts';
import { openSqliteSource, openSqliteTarget } from '../../src/store/copy/sqlite-copy.ts';

const [path = '', target = '', step, rows] = process.argv.slice(2);
await copyStore({
  from: await openSqliteSource(path),
  to: await (target.startsWith('postgres:') ? openPostgresTarget({ url: target }) : openSqliteTarget(target)),
  onProgress: (state) => {
    const isThere = state.step === step && state.table === 'subscriptions' && state.rows >= Number(rows);
    if (isThere) process.kill(process.pid, 'SIGKILL');
  },
});
