// What pages and lists read, on SQLite: the steps of its virtual machine, as Python's module counts them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { StatementSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { find, python, skipWithout } from '../../scripts/install-test-tools.ts';
import { describeLightReads, type MadeStatement } from './light-reads-suite.ts';

const script = `
import base64, json, sqlite3, sys
database = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
steps = 0
def count():
    global steps
    steps += 1
    return 0
for line in sys.stdin:
    sql, values = json.loads(line)
    steps = 0
    database.set_progress_handler(count, 1)
    database.execute(sql, [base64.b64decode(v["bytes"]) if isinstance(v, dict) else v for v in values]).fetchall()
    print(steps)
`;

const toJson = (value: unknown): unknown =>
  value instanceof Uint8Array ? { bytes: Buffer.from(value).toString('base64') } : value;

describeLightReads('SQLite', {
  skip: skipWithout('the count of what SQLite does', [python]),
  record() {
    const made: MadeStatement[] = [];
    const { all, get } = StatementSync.prototype;
    Object.assign(StatementSync.prototype, {
      all(this: StatementSync, ...values: Parameters<StatementSync['all']>) {
        made.push({ sql: this.sourceSQL, values });
        return all.apply(this, values);
      },
      get(this: StatementSync, ...values: Parameters<StatementSync['get']>) {
        made.push({ sql: this.sourceSQL, values });
        return get.apply(this, values);
      },
    });
    return () => {
      Object.assign(StatementSync.prototype, { all, get });
      return made;
    };
  },
  settle: async () => {},
  async count({ address }, statements) {
    const { path } = address.options as { readonly path: string };
    const child = spawn(find(python) ?? '', ['-c', script, path], { stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.end(
      statements.map(({ sql, values }) => `${JSON.stringify([sql, values.map(toJson)])}\n`).join(''),
    );
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    if (code !== 0) throw new Error(`The statements could not be counted: ${code}`);
    return output.split('\n').filter(Boolean).map(Number);
  },
});
