// Copies a SQLite file to another database, and kills itself once so many rows of a table are copied.
import { copyStore } from '../../src/store/copy/copy-store.ts';
import { openPostgresTarget } from '../../src/store/copy/postgres-copy.ts';
import { openSqliteSource, openSqliteTarget } from '../../src/store/copy/sqlite-copy.ts';

const [path = '', target = '', table, rows] = process.argv.slice(2);
await copyStore({
  from: await openSqliteSource(path),
  to: await (target.startsWith('postgres:') ? openPostgresTarget({ url: target }) : openSqliteTarget(target)),
  onProgress: (state) => {
    if (state.table === table && state.rows >= Number(rows)) process.kill(process.pid, 'SIGKILL');
  },
});
