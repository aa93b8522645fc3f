// Finds the reader of a single message, from the caller or the store.
import { checkData, checkLanguage, type PersonData } from '../../audience/reader-facts.ts';
import { checkOptions, type OptionChecks } from '../../errors/check-options.ts';
import type { PushOptions } from '../../protocol/request.ts';
import type { MessageReader } from '../../protocol/message/encode-payload.ts';
import type { Store } from '../../store/store.ts';

/** Options for delivering a single message, and the language and data of its reader. */
export interface SendOptions extends PushOptions {
  /** The reader's language and data. Default: those in the store, if there is a store. */
  readonly reader?: GivenReader | undefined;
}

/**
 * The language and the data of a reader, for a message with `texts` or `placeholders`. The values that you give here
 * take precedence over the reader's values in the store.
 */
export interface GivenReader {
  /** A BCP 47 tag, such as `de-AT`. */
  readonly language?: string | undefined;
  /** Values of placeholders. */
  readonly data?: PersonData | undefined;
}

const readerChecks: OptionChecks<GivenReader> = {
  language: (value) => checkLanguage(value, '/reader/language'),
  data: (value) => checkData(value as PersonData, '/reader/data'),
};

/** @throws {DeskbellError} ERR_MESSAGE_INVALID, ERR_FIELD_VALUE, ERR_FIELD_TYPE */
export function checkReader(reader: GivenReader): MessageReader {
  checkOptions(reader, readerChecks, { code: 'ERR_MESSAGE_INVALID', name: 'reader' });
  const { language, data } = reader;
  return { language: language && checkLanguage(language, '/reader/language'), data };
}

/** @param store `undefined` if there is none. If it lacks the subscription, nothing is known about the reader. */
export async function findReader(
  given: MessageReader,
  endpoint: string,
  store: Pick<Store, 'subscriptions' | 'readers'> | undefined,
): Promise<MessageReader> {
  // look the subscription up by endpoint, because the caller's object may have an unrelated id
  const row = await store?.subscriptions.findByEndpoint(endpoint);
  const known = row && (await store!.readers.factsOf([row])).get(row.id);
  return { language: given.language ?? known?.language, data: { ...known?.data, ...given.data } };
}
