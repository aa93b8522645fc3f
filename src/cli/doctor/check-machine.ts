// The machine: Node's version, open files, encryption, and the clock compared with push services.
import { readFile } from 'node:fs/promises';
import type { EncryptionMethod } from '../../accelerator/encryption-methods.ts';
import { loadAccelerator } from '../../accelerator/load-accelerator.ts';
import { defaultTokenLifetimeSeconds } from '../../protocol/vapid.ts';
import { packageVersion } from '../commands/version.ts';
import { ok, type Outcome, warning } from './finding.ts';

/** Each client and each connection to a push service uses one. */
const enoughFiles = 4096;

export function checkNode(): Outcome {
  const { node, openssl, sqlite } = process.versions;
  return ok(`Deskbell ${packageVersion()}, Node ${node}, OpenSSL ${openssl}, SQLite ${sqlite ?? 'unknown'}`);
}

/** Node raises its own limit at start as far as it can, so the limit that is read is final. */
export async function checkOpenFiles(limitsFile = '/proc/self/limits'): Promise<Outcome> {
  const limits = await readFile(limitsFile, 'utf8').catch(() => '');
  const limit = /^Max open files +(\S+)/m.exec(limits)?.[1];
  if (limit === undefined) return ok('this system does not report their limit');
  if (limit === 'unlimited' || Number(limit) >= enoughFiles) return ok(limit);
  const cure = `Raise the limit to ${enoughFiles} or more: "ulimit -n", or LimitNOFILE= in the systemd unit.`;
  return warning(`at most ${limit}, which a busy service may reach`, cure);
}

/** @param file the accelerator. Default: the one that sending uses */
export function checkEncryption(fastest: EncryptionMethod, file?: string): Outcome {
  const { method, reason } = loadAccelerator({ fastest, file });
  if (reason === undefined) return ok(`${method}, checked`);
  const cure = 'It works, at two to four times the processor time. See "What it costs" in docs/sending.md.';
  return warning(reason, cure);
}

const secondMs = 1000;
const toleratedMs = 60 * secondMs;

/** The time of a push service that answered. */
export interface ServerTime {
  readonly host: string;
  /** Its clock minus ours. */
  readonly differenceMs: number;
}

export function checkClock(times: readonly ServerTime[]): Outcome {
  const differences = times.map(({ differenceMs }) => differenceMs).toSorted((a, b) => a - b);
  const median = differences[Math.floor(differences.length / 2)];
  if (median === undefined) return ok('not compared: no push service gave the time');
  const awayMs = Math.abs(median);
  if (awayMs <= toleratedMs) return ok(`agrees with ${formatHosts(times)}`);
  const seconds = Math.round(awayMs / secondMs);
  return {
    status: awayMs >= defaultTokenLifetimeSeconds * secondMs ? 'fault' : 'warning',
    detail: `${seconds} seconds ${median > 0 ? 'behind' : 'ahead of'} ${formatHosts(times)}`,
    cure: 'Set the clock, and keep it right with NTP. Push services refuse tokens that a wrong clock has dated.',
  };
}

const formatHosts = (times: readonly ServerTime[]): string => times.map(({ host }) => host).join(', ');
