// The data directory: rights, room on the disk, database, keys, and the subject that they sign for.
import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { describePause, pauseRemedy } from '../../delivery/installation-warnings.ts';
import { assertDirectoryIsProtected, isOnReadOnlyDisk } from '../../keys/file-permissions.ts';
import { checkSecrets } from '../../keys/secret-files.ts';
import { describeMissingKeys, findMissingKeys, missingKeysRemedy } from '../../keys/missing-keys.ts';
import { readKeyRing } from '../../keys/key-ring.ts';
import { findAppleSubjectFault } from '../../protocol/apple-subject.ts';
import type { DatabaseContent } from '../../store/database-content.ts';
import { describeDatabase as describeUrl } from '../../store/postgres/database-url.ts';
import type { DatabaseState as PostgresState } from '../../store/postgres/inspect-database.ts';
import { inspectDatabase, type DatabaseState } from '../../store/sqlite/inspect-database.ts';
import { variableOf } from '../configuration/configuration.ts';
import { requireData } from '../data/open-data.ts';
import { databasePathOf } from '../data/data-directory.ts';
import { formatBytes } from '../output/format-bytes.ts';
import { findingOf, type Finding } from './finding.ts';

/** Below the first a broadcast may fill it soon; below the second commits fail. */
const lowDiskSpaceBytes = 1e9;
const minDiskSpaceBytes = 50e6;

/** Without a directory there is nothing else to look at. */
export async function checkData(directory: string, url: string | undefined): Promise<readonly Finding[]> {
  const rights = await findingOf('data directory', () => checkRights(directory));
  if (!existsSync(directory)) return [rights];
  let content: DatabaseContent | undefined;
  const database = await findingOf('database', async () => {
    if (url !== undefined) {
      const { inspectDatabase: inspectPostgres } = await import('../../store/postgres/inspect-database.ts');
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
  return [rights, disk, database, keys, ...(content === undefined ? [] : [describeSending(content)])];
}

/** @param subject as configured */
export function checkSubject(subject: string | undefined): Finding {
  if (subject === undefined) {
    return {
      subject: 'subject',
      status: 'warning',
      detail: 'there is none, and sending needs one',
      cure: `Set ${variableOf('subject')} (or --subject, or "subject" in the configuration file) to a mailto: or https: URI.`,
    };
  }
  const fault = findAppleSubjectFault(subject);
  if (fault === undefined) return { subject: 'subject', status: 'ok', detail: subject };
  return {
    subject: 'subject',
    status: 'warning',
    detail: fault,
    cure: 'Give a contact at a domain of yours; until then nothing is sent to Safari.',
  };
}

const noDatabase: Finding = {
  subject: 'database',
  status: 'warning',
  detail: 'there is none yet',
  cure: '"deskbell serve" creates it when it first starts. If there was one, restore it with "deskbell restore".',
};

async function checkRights(directory: string): Promise<Finding> {
  const subject = 'data directory';
  await requireData(directory);
  assertDirectoryIsProtected(directory);
  await checkSecrets(directory);
  return { subject, status: 'ok', detail: directory };
}

/** @param hasOnlyKeys where the database is elsewhere */
async function checkDiskSpace(directory: string, hasOnlyKeys: boolean): Promise<Finding> {
  if (isOnReadOnlyDisk(directory)) {
    return {
      subject: 'disk',
      status: hasOnlyKeys ? 'warning' : 'fault',
      detail: `its file system is read-only: ${hasOnlyKeys ? 'no key can be added' : 'nothing can be stored'}`,
      cure: 'Mount it writable. The system makes a faulty disk read-only: see the system log.',
    };
  }
  const { bavail, bsize } = await statfs(directory);
  return describeDiskSpace(bavail * bsize);
}

export function describeDiskSpace(bytes: number): Finding {
  const subject = 'disk';
  const detail = `${formatBytes(bytes)} free`;
  if (bytes >= lowDiskSpaceBytes) return { subject, status: 'ok', detail };
  return {
    subject,
    status: bytes < minDiskSpaceBytes ? 'fault' : 'warning',
    detail,
    cure: 'Free some space. Sending stops while the disk is full, and continues when there is space.',
  };
}

function describeDatabase({ schema, newestSchema }: DatabaseState, path: string): Finding {
  const subject = 'database';
  if (schema === newestSchema) return { subject, status: 'ok', detail: `whole, schema ${schema}` };
  return {
    subject,
    status: 'warning',
    detail: `${path} is whole and has schema ${schema} of ${newestSchema}: an older Deskbell made it`,
    cure: 'The next command or start migrates it. An older Deskbell cannot open it after that: back it up before.',
  };
}

function describePostgres(state: PostgresState, label: string): Finding {
  const { schema, newestSchema, warnings, strangers } = state;
  const subject = 'database';
  const [warning] = warnings;
  if (warning !== undefined) {
    return { subject, status: 'warning', detail: warning, cure: 'Synchronize the clocks of both machines.' };
  }
  if (schema === newestSchema && strangers.length > 0) {
    return {
      subject,
      status: 'warning',
      detail: `every user of its server may connect to ${label}, such as "${strangers[0]}", and stop registrations by holding a lock`,
      cure: 'revoke connect on database … from public; grant it to those that need it (docs/postgresql.md).',
    };
  }
  if (schema === newestSchema) return { subject, status: 'ok', detail: `${label}, schema ${schema}` };
  return {
    subject,
    status: 'warning',
    detail:
      schema === 0
        ? `${label} has no tables of Deskbell yet`
        : `${label} has schema ${schema} of ${newestSchema}: an older Deskbell made it`,
    cure: 'The next command or start migrates it. An older Deskbell does not open it after that: back it up before.',
  };
}

async function checkKeys(directory: string, content: DatabaseContent | undefined): Promise<Finding> {
  const subject = 'keys';
  const ring = await readKeyRing(directory);
  const pairs = `${ring.length} VAPID ${ring.length === 1 ? 'pair' : 'pairs'}`;
  const { keys = [], subscriptions = new Map<string, number>() } = content ?? {};
  const missing = findMissingKeys(keys, subscriptions, ring);
  if (missing.length > 0) {
    return {
      subject,
      status: 'fault',
      detail: describeMissingKeys(missing, directory),
      cure: missingKeysRemedy,
    };
  }
  const current = keys.find(({ state }) => state === 'current') ?? ring[0];
  return { subject, status: 'ok', detail: `${pairs}, current ${current?.publicKey}` };
}

function describeSending({ pause }: DatabaseContent): Finding {
  const subject = 'sending';
  if (pause === undefined) return { subject, status: 'ok', detail: 'not paused' };
  return { subject, status: 'warning', detail: describePause(pause), cure: pauseRemedy };
}
