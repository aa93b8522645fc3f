// How every example ends: it serves until it is stopped, or, with --check, asks itself once and ends.
import assert from 'node:assert/strict';

export async function serveOrCheck(
  address: string,
  path: string,
  close: () => unknown,
  request: RequestInit = {},
): Promise<void> {
  console.log(`Listens on ${address}; try ${address}${path}`);
  if (!process.argv.includes('--check')) return;
  const response = await fetch(address + path, request);
  console.log(`${response.status} ${await response.text()}`);
  assert.ok(response.ok);
  await close();
}
