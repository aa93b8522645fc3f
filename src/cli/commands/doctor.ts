// `deskbell doctor`: checks what an installation needs, and says how to fix what is wrong.
import type { Command } from 'commander';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { type Context, createCommand } from '../command.ts';
import { dataSettings, pick, senderSettings } from '../configuration/configuration.ts';
import type { Finding } from '../doctor/checks.ts';
import { readCertificates } from '../send/open-sender.ts';
import type { JsonFlag, Output } from '../output/output.ts';
import { contactOf, readConfiguration } from '../configuration/read-configuration.ts';

export function doctorCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'doctor',
    description:
      'Checks the installation: versions, data directory, disk, database, keys, subject, open files, encryption, ' +
      'and the connection to each push service. The command sends nothing and changes nothing. Run "deskbell ' +
      'doctor" with the same options as the service and its workers. The exit code is 1 if there is a fault.',
    settings: [...dataSettings, ...senderSettings],
    json: 'Prints JSON Lines, with one finding in each line.',
    examples: ['deskbell doctor', 'deskbell doctor --data /var/lib/deskbell --json'],
  }).action(async (flags: JsonFlag) => {
    const configuration = await readConfiguration({ flags, environment });
    const { data, database, encryption } = configuration;
    const { checkData, checkEncryption, checkNetwork, checkNode, checkOpenFiles, checkSubject } =
      await import('../doctor/checks.ts');
    const { proxyFromEnvironment } = await import('../../transport/proxy.ts');
    const ca = await readCertificates(configuration.ca);
    const network = {
      ...pick(configuration, ['pushServices', 'pushServiceAddresses', 'nat64Prefix', 'connectTimeoutMs']),
      ca,
      ...proxyFromEnvironment(environment),
    };
    const findings = [
      { subject: 'versions', ...checkNode() },
      ...(await checkData(data, database)),
      { subject: 'subject', ...checkSubject(contactOf(configuration)) },
      { subject: 'open files', ...(await checkOpenFiles()) },
      { subject: 'encryption', ...checkEncryption(encryption) },
      ...(await checkNetwork(network)),
    ];
    await output.table(flags, {
      rows: findings,
      toJson: (finding) => finding,
      toText: (finding) => format(finding, findings, output),
    });
    const faults = findings.filter(({ status }) => status === 'fault').length;
    if (faults === 0) return;
    throw new DeskbellError(
      'ERR_FAULTS_FOUND',
      faults === 1 ? 'There is a fault' : `There are ${faults} faults`,
    );
  });
}

const styles = { ok: 'green', warning: 'yellow', fault: 'red' } as const;

/** Formats a finding: status, subject and detail, with the remedy on the next line. */
function format(
  { subject, status, detail, cure }: Finding,
  all: readonly Finding[],
  { style }: Output,
): string {
  const width = Math.max(...all.map((finding) => finding.subject.length));
  const line = `${style(styles[status], status.padEnd(7))}  ${subject.padEnd(width)}  ${detail}`;
  return cure === undefined ? line : `${line}\n${' '.repeat(width + 11)}→ ${cure}`;
}
