// Namespaces of Linux, for tests that need a network or files of their own.
import { spawnSync } from 'node:child_process';

/**
 * Why tests that run `unshare` with these parameters are to be skipped, as `node:test` takes it.
 *
 * @param purpose such as `The test with hosts of their own`
 * @throws {Error} with CI=true, where nothing is skipped
 */
export function skipWithoutNamespaces(purpose: string, parameters: readonly string[]): false | string {
  const { status, stderr } = spawnSync('unshare', [...parameters, 'true'], { encoding: 'utf8' });
  if (status === 0) return false;
  const sentence = `${purpose} needs root on Linux, to make namespaces: ${stderr ?? 'there is no unshare'}`;
  if (process.env['CI'] === 'true') throw new Error(sentence);
  return sentence;
}
