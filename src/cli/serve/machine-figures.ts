// What metrics say of this machine and its configuration.
import { X509Certificate } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import type { MachineFigures } from '../../operator/metrics/machine-figures.ts';
import type { Configuration } from '../configuration/configuration.ts';
import { readLastBackup } from '../data/last-backup.ts';
import { readTextFile } from '../input/read-input.ts';

type Configured = Pick<Configuration, 'data' | 'database' | 'maxSubscriptions' | 'operatorCert'>;

/**
 * The certificate is read once, as the listener does, which says what is wrong with it.
 *
 * @returns reads the figures as they are then; what cannot be read is absent
 */
export async function machineFiguresReader({
  data,
  database,
  maxSubscriptions,
  operatorCert,
}: Configured): Promise<() => Promise<MachineFigures>> {
  const certificateEndsAtMs =
    operatorCert === undefined ? undefined : endOf(await readTextFile(operatorCert).catch(() => ''));
  return async () => {
    const [disk, backedUpAtMs] = await Promise.all([
      statfs(data).catch(() => undefined),
      readLastBackup(data),
    ]);
    return {
      disk: disk && { freeBytes: disk.bavail * disk.bsize, sizeBytes: disk.blocks * disk.bsize },
      subscriptionLimit: maxSubscriptions,
      certificateEndsAtMs,
      // of PostgreSQL, others make the backups
      lastBackupAtMs: database === undefined ? (backedUpAtMs ?? 0) : undefined,
    };
  };
}

/** The listener's own comes first in its file. */
function endOf(certificate: string): number | undefined {
  try {
    return new X509Certificate(certificate).validToDate.getTime();
  } catch {
    return undefined;
  }
}
