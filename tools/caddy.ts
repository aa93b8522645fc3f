// Caddy as tests use it: with a configuration that names hosts of example.org, on a port of this machine, with a certificate of the
// test's own, and everything that it keeps in a folder.
import { execFile, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { caddy as program, find } from '../scripts/install-test-tools.ts';

const execute = promisify(execFile);

export interface CaddyConfiguration {
  /** As it stands in a Caddyfile, valid as it is. */
  readonly example: string;
  readonly port: number;
  /** What stands in the example, and what takes its place: the addresses of the listeners. */
  readonly replaced: Readonly<Record<string, string>>;
}

/** @param folder has `cert.pem` and `key.pem` for the hosts */
export async function startCaddy(
  folder: string,
  { example, port, replaced }: CaddyConfiguration,
): Promise<{ stop(): void }> {
  const command = find(program) ?? '';
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const file = join(folder, 'Caddyfile');
  await writeFile(file, example);
  await execute(command, ['validate', '--adapter', 'caddyfile', '--config', file], { env });
  const tls = `tls ${join(folder, 'cert.pem')} ${join(folder, 'key.pem')}`;
  const hosts = example.replaceAll(/^(\w+\.example\.org) \{$/gm, `$1:${port} {\n\tbind 127.0.0.1\n\t${tls}`);
  const rewritten = Object.entries(replaced).reduce((text, [from, to]) => text.replaceAll(from, to), hosts);
  const options = '\tadmin off\n\tauto_https disable_redirects\n';
  const hasOptions = rewritten.startsWith('{\n');
  await writeFile(file, `{\n${options}${hasOptions ? rewritten.slice(2) : `}\n${rewritten}`}`);
  const child = spawn(command, ['run', '--adapter', 'caddyfile', '--config', file], { env, stdio: 'ignore' });
  return { stop: () => void child.kill() };
}
