// `deskbell audit`: what operators have changed, newest first.
import type { Command } from 'commander';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import type { AuditRecord } from '../../store/operators.ts';
import { auditView } from '../../operations/audit.ts';
import { parseOperatorName, parsePositiveInteger, parseTime } from '../flags/arguments.ts';
import { createDataCommand } from '../data/data-command.ts';
import type { Context } from '../command.ts';
import { inColumns, type JsonFlag } from '../output/output.ts';

interface AuditFlags extends JsonFlag {
  readonly operator?: string;
  readonly action?: string;
  readonly target?: string;
  readonly since?: Date;
  readonly limit: number;
}

const defaultLimit = 50;

export function auditCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'audit',
    description:
      'Prints the changes that operators made with the API, the console and commands, newest first. Deskbell does ' +
      'not record commands that send messages or import subscriptions. Deskbell does not record the commands ' +
      '"keys", "operators", "backup", "restore" and "store" either.',
    json: 'Prints JSON Lines.',
    examples: [
      'deskbell audit',
      'deskbell audit --operator shop --since 2027-01-01T00:00Z --json | jq .action',
    ],
  })
    .option('--operator <name>', 'Prints only changes by this operator.', parseOperatorName)
    .option('--action <action>', 'Prints only changes of this kind, such as broadcast.pause.')
    .option('--target <target>', 'Prints only changes to this target, such as "broadcast 7".')
    .option('--since <time>', 'Prints only changes at this time or later (ISO 8601 with a zone).', parseTime)
    .option('--limit <count>', 'Maximum rows.', parsePositiveInteger, defaultLimit)
    .onData(async ({ store }, flags: AuditFlags) => {
      const { operator, action, target, since, limit } = flags;
      await output.table(flags, {
        rows: await store.audit.list({ operator, action, target, sinceMs: since?.getTime(), limit }),
        toJson: auditView.toJson,
        ...columns,
        ifEmpty: 'No such changes.',
      });
    });
}

const columns = inColumns<AuditRecord>([
  ['AT', 24, ({ atMs }) => isoTime(atMs)],
  ['OPERATOR', 12, ({ operator }) => operator],
  ['ACTION', 20, ({ action }) => action],
  ['STATUS', 6, ({ status }) => (status === undefined ? '-' : String(status))],
  ['TARGET', 0, ({ target = '' }) => target],
]);
