// `deskbell version`: prints what is installed, and which method encrypts messages on this machine.
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { type Context, createCommand } from '../command.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import type { JsonFlag } from '../output/output.ts';

export function packageVersion(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

const methods = {
  'multi-buffer': 'accelerator, eight messages at a time (AVX-512 IFMA)',
  openssl: 'accelerator on OpenSSL, one message after the other',
  builtin: "Node's builtins",
} as const;

export function versionCommand({ environment, output }: Context): Command {
  return createCommand({
    name: 'version',
    description:
      'Prints the versions of Deskbell, Node and OpenSSL, and the method that encrypts messages on this machine.',
    settings: ['encryption'],
    json: 'Prints {"deskbell", "node", "openssl", "platform", "encryption", "reason"}.',
    examples: ['deskbell version', 'deskbell version --json'],
  }).action(async (flags: JsonFlag) => {
    const { encryption } = await readConfiguration({ flags, environment });
    const { loadAccelerator } = await import('../../accelerator/load-accelerator.ts');
    const { method, reason } = loadAccelerator({ fastest: encryption });
    const facts = {
      deskbell: packageVersion(),
      node: process.versions.node,
      openssl: process.versions.openssl,
      platform: `${process.platform}-${process.arch}`,
      encryption: method,
      reason,
    };
    const lines = [
      `Deskbell ${facts.deskbell}, Node ${facts.node}, OpenSSL ${facts.openssl}, ${facts.platform}`,
      `Encryption: ${methods[method]}`,
      ...(reason === undefined ? [] : [reason]),
    ];
    await output.result(flags, facts, lines.join('\n'));
  });
}
