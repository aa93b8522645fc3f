// Subscriber tokens as the configuration has them: which algorithm, whose key, and for whom.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { SubscriberTokens } from '../../service/push/subscriber-token.ts';
import type { Configuration } from '../configuration/configuration.ts';
import { readTextFile } from '../input/read-input.ts';
import type { DataDirectory } from '../data/data-directory.ts';

/**
 * @returns `undefined` where they are off
 * @throws {DeskbellError} ERR_CONFIGURATION, ERR_FILE, and what reading the key of the data directory throws
 */
export async function readSubscriberTokens(
  { subscriberTokens: algorithm, subscriberTokenKey, subscriberTokenAudience: audience }: Configuration,
  data: Pick<DataDirectory, 'subscriberTokenKey'>,
): Promise<SubscriberTokens | undefined> {
  if (algorithm === 'off') return undefined;
  if (algorithm === 'HS256') return { algorithm, key: await data.subscriberTokenKey(), audience };
  if (subscriberTokenKey === undefined) {
    throw new DeskbellError(
      'ERR_CONFIGURATION',
      'EdDSA needs the application’s public key: give --subscriber-token-key with a PEM file',
    );
  }
  const publicKey = await readTextFile(subscriberTokenKey, `The public key ${subscriberTokenKey}`);
  return { algorithm, publicKey, audience };
}
