// Second step of a message's path: the bodies of messages that are posted together.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { EncryptBatch } from '../../protocol/message-encryption.ts';
import type { PushRequest } from '../../transport/transport.ts';
import type { NotSent } from './not-sent.ts';
import type { Selected } from './select.ts';

/**
 * Encrypts messages, each under a key pair of its own. A stored key that is no point refuses its own message and no
 * other one.
 *
 * @returns one entry for each message, in order
 */
export function encrypt(
  messages: readonly Selected[],
  encryptBatch: EncryptBatch,
): readonly (PushRequest | NotSent)[] {
  const bodies = encryptBatch(messages);
  return messages.map(({ origin, path, headers }, index) => {
    const body = bodies[index]!;
    return body instanceof DeskbellError
      ? { kind: 'notSendable', fault: { reason: 'bad-encryption', detail: body.message } }
      : { origin, path, headers, body };
  });
}
