// What metrics say of this machine and its configuration.
import { X509Certificate } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import type { MachineFigures } from '../../operator/metrics/machine-figures.ts';
import type { Configuration } from '../configuration/configuration.ts';
import { readLastBackup } from '../data/last-backup.ts';

type Configured = Pick<Configuration, 'data' | 'database' | 'maxSubscriptions'>;

/**
 * @param certificate of the operator's listener, as PEM: its own comes first
 * @returns reads the figures as they are then; what cannot be read is absent
 */
export function machineFiguresReader(
  { data, database, maxSubscriptions }: Configured,
  certificate: string | undefined,
): () => Promise<MachineFigures> {
  const certificateEndsAtMs =
    certificate === undefined ? undefined : new X509Certificate(certificate).validToDate.getTime();
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
