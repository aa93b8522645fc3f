// The machine and its Node: versions, open files, how messages are encrypted.
import { readFile } from 'node:fs/promises';
import { loadAccelerator, type EncryptionMethod } from '../../accelerator/load-accelerator.ts';
import { packageVersion } from '../package-version.ts';
import type { Finding } from './finding.ts';

/** Each client and each connection to a push service takes one. */
const enoughFiles = 4096;

export function checkNode(): Finding {
  const { node, openssl, sqlite } = process.versions;
  return {
    subject: 'versions',
    status: 'ok',
    detail: `Deskbell ${packageVersion()}, Node ${node}, OpenSSL ${openssl}, SQLite ${sqlite ?? 'unknown'}`,
  };
}

/** Node raises the limit of its process as far as it may at the start: what is read is all there is. */
export async function checkOpenFiles(limitsFile = '/proc/self/limits'): Promise<Finding> {
  const subject = 'open files';
  const limits = await readFile(limitsFile, 'utf8').catch(() => '');
  const limit = /^Max open files +(\S+)/m.exec(limits)?.[1];
  if (limit === undefined)
    return { subject, status: 'ok', detail: 'this system does not report their limit' };
  if (limit === 'unlimited' || Number(limit) >= enoughFiles) return { subject, status: 'ok', detail: limit };
  return {
    subject,
    status: 'warning',
    detail: `at most ${limit}, which a busy service may reach`,
    cure: `Raise the limit to ${enoughFiles} or more: "ulimit -n", or LimitNOFILE= in the systemd unit.`,
  };
}

export function checkEncryption(fastest: EncryptionMethod): Finding {
  const subject = 'encryption';
  const { method, reason } = loadAccelerator({ fastest });
  if (reason === undefined) return { subject, status: 'ok', detail: `${method}, checked` };
  return {
    subject,
    status: 'warning',
    detail: reason,
    cure: 'It works, at two to four times the processor time. See "What it costs" in docs/sending.md.',
  };
}
