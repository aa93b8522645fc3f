// A test's own connections to PostgreSQL.
import { Client } from 'pg';

/** For `await using`. */
export async function connect(url: string): Promise<Client & AsyncDisposable> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

/** @returns the rows of one statement */
export async function readRows<Row = Record<string, unknown>>(
  url: string,
  sql: string,
): Promise<readonly Row[]> {
  await using client = await connect(url);
  const { rows } = await client.query(sql);
  return rows as readonly Row[];
}
