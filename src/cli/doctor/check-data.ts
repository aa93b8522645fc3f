import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { describePause, pauseRemedy } from '../../delivery/alarms/installation-warnings.ts';
import { countOf } from '../../errors/format-count.ts';
import { isOnReadOnlyDisk } from '../../keys/private-file.ts';
import { checkSecrets } from '../../keys/secret-files.ts';
import {
  describeMissingKeys,
  findMissingKeys,
  missingKeysRemedy,
  readKeyRing,
} from '../../keys/vapid-key-files.ts';
import { findAppleSubjectFault } from '../../protocol/vapid.ts';
import type { DatabaseContent, DatabaseState } from '../../store/database-content.ts';
import { describeDatabase as describeUrl } from '../../store/postgres/database-url.ts';
import type { PostgresState } from '../../store/postgres/preflight.ts';
import { inspectDatabase } from '../../store/sqlite/inspect-database.ts';
import { variableOf } from '../configuration/configuration.ts';
import { databasePathOf } from '../data/data-directory.ts';
import { readLastBackup } from '../data/last-backup.ts';
import { requireData } from '../data/open-data.ts';
import { formatBytes } from '../output/output.ts';
import { type Finding, findingOf, ok, type Outcome, warning } from './finding.ts';

/** Below the first, a broadcast may soon fill the disk; below the second, commits fail. */
const lowDiskSpaceBytes = 1e9;
const minDiskSpaceBytes = 50e6;

/** @param hasOnlyKeys true if the database is elsewhere */
async function checkDiskSpace(directory: string, hasOnlyKeys: boolean): Promise<Outcome> {
  if (isOnReadOnlyDisk(directory)) {
    return {
      status: hasOnlyKeys ? 'warning' : 'fault',
      detail: `its file system is read-only: ${hasOnlyKeys ? 'no key can be added' : 'nothing can be stored'}`,
      cure: 'Mount it writable. The system makes a faulty disk read-only: see the system log.',
    };
  }
  const { bavail, bsize } = await statfs(directory);
  return describeDiskSpace(bavail * bsize);
}

export function describeDiskSpace(bytes: number): Outcome {
  const detail = `${formatBytes(bytes)} free`;
  if (bytes >= lowDiskSpaceBytes) return ok(detail);
  return {
    status: bytes < minDiskSpaceBytes ? 'fault' : 'warning',
    detail,
    cure: 'Free some space. Sending stops while the disk is full, and continues when there is space.',
  };
}

// The data directory: rights, disk, database, keys, and the subject that they sign for.

/** If the directory is missing, nothing else is checked. */
export async function checkData(directory: string, url: string | undefined): Promise<readonly Finding[]> {
  const rights = await findingOf('data directory', () => checkRights(directory));
  if (!existsSync(directory)) return [rights];
  let content: DatabaseContent | undefined;
  const database = await findingOf('database', async () => {
    if (url !== undefined) {
      const { inspectDatabase: inspectPostgres } = await import('../../store/postgres/preflight.ts');
      const inspected = await inspectPostgres(url);
      ({ content } = inspected);
      return describePostgres(inspected, describeUrl(url));
    }
    const path = databasePathOf(directory);
    if (!existsSync(path)) return noDatabase;
    const inspected = inspectDatabase(path);
    ({ content } = inspected);
    return describeDatabase(inspected, path);
  });
  const keys = await findingOf('keys', () => checkKeys(directory, content));
  const disk = await findingOf('disk', () => checkDiskSpace(directory, url !== undefined));
  return [
    rights,
    disk,
    database,
    keys,
    ...(content === undefined ? [] : [{ subject: 'sending', ...describeSending(content) }]),
    ...(url === undefined && content !== undefined
      ? [{ subject: 'backup', ...(await describeBackup(directory)) }]
      : []),
  ];
}

/** @param subject as configured */
export function checkSubject(subject: string | undefined): Outcome {
  if (subject === undefined) {
    return warning(
      'there is none, and sending needs one',
      `Set ${variableOf('subject')} (or --subject, or "subject" in the configuration file) to a mailto: or https: URI.`,
    );
  }
  const fault = findAppleSubjectFault(subject);
  if (fault === undefined) return ok(subject);
  return warning(fault, 'Give a contact at a domain of yours; until then nothing is sent to Safari.');
}

const noDatabase = warning(
  'there is none yet',
  '"deskbell serve" creates it when it first starts. If there was one, restore it with "deskbell restore".',
);

async function checkRights(directory: string): Promise<Outcome> {
  await requireData(directory);
  await checkSecrets(directory);
  return ok(directory);
}

function describeDatabase({ schema, newestSchema }: DatabaseState, path: string): Outcome {
  if (schema === newestSchema) return ok(`whole, schema ${schema}`);
  return warning(
    `${path} is whole and has schema ${schema} of ${newestSchema}: an older Deskbell made it`,
    migrationCure,
  );
}

const migrationCure =
  'The next command or start migrates it. An older Deskbell cannot open it after that: back it up before.';

function describePostgres(state: PostgresState, label: string): Outcome {
  const { schema, newestSchema, warnings } = state;
  const [warned] = warnings;
  if (warned !== undefined) return warning(warned, 'Synchronize the clocks of both machines.');
  if (schema === 0) return warning(`${label} has no tables of Deskbell yet`, migrationCure);
  if (schema !== newestSchema) {
    return warning(
      `${label} has schema ${schema} of ${newestSchema}: an older Deskbell made it`,
      migrationCure,
    );
  }
  return ok(`${label}, schema ${schema}`);
}

async function checkKeys(directory: string, content: DatabaseContent | undefined): Promise<Outcome> {
  const ring = await readKeyRing(directory);
  const { keys = [], subscriptions = new Map<string, number>() } = content ?? {};
  const missing = findMissingKeys(keys, subscriptions, ring);
  if (missing.length > 0)
    return { status: 'fault', detail: describeMissingKeys(missing, directory), cure: missingKeysRemedy };
  const current = keys.find(({ state }) => state === 'current') ?? ring[0];
  const pairs = countOf(ring.length, 'VAPID pair');
  return ok(`${pairs}, current ${current?.publicKey}`);
}

async function describeBackup(directory: string): Promise<Outcome> {
  const atMs = await readLastBackup(directory);
  return ok(atMs === undefined ? 'none was made yet' : `the last one ended at ${isoTime(atMs)}`);
}

const describeSending = ({ pause }: DatabaseContent): Outcome =>
  pause === undefined ? ok('not paused') : warning(describePause(pause), pauseRemedy);
