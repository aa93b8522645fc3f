// Prepares an audience in one process while another one registers subscriptions.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { AudienceExpression } from '../../src/audience/user-and-tags.ts';
import type { WrittenAudience } from './audience-process.ts';
import type { Waits } from './registering-process.ts';

export interface MeasuredAudience {
  readonly expression: AudienceExpression;
  readonly written: WrittenAudience;
  readonly waits: Waits;
}

/** @param database a path, or a URL of PostgreSQL */
export async function measureAudience(
  database: string,
  expression: AudienceExpression,
): Promise<MeasuredAudience> {
  const registering = start('registering-process', [database]);
  await messageOf(registering); // it has begun
  const written = await messageOf<WrittenAudience>(
    start('audience-process', [database, JSON.stringify(expression)]),
  );
  registering.send('stop');
  const waits = await messageOf<Waits>(registering);
  return { expression, written, waits };
}

const start = (name: string, words: readonly string[]): ChildProcess =>
  fork(fileURLToPath(new URL(`${name}.ts`, import.meta.url)), words);

async function messageOf<Message>(child: ChildProcess): Promise<Message> {
  const [message] = (await once(child, 'message')) as [Message];
  return message;
}
