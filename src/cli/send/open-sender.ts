// Creates the sender from the configuration, the keys in the data directory, and the proxy set in the environment.
import { X509Certificate } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import type { MessageLog } from '../../delivery/reports/message-log.ts';
import type { Sender, SenderOptions } from '../../delivery/sender.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import type { Context } from '../command.ts';
import { type Configuration, pick, senderSettings, variableOf } from '../configuration/configuration.ts';
import { contactOf } from '../configuration/read-configuration.ts';
import type { DataDirectory } from '../data/data-directory.ts';
import { readTextFile } from '../input/read-input.ts';
import { printMessages } from '../serve/report-delivery.ts';

/**
 * Tunes V8 for a process that only delivers. V8's optimising compiler needs about 2 ms for each function and thread. By
 * default it compiles a function after 3000 calls, which does not pay off in a broadcast to 100,000 readers. `serve
 * --deliver` and applications are not tuned, because they also run other code.
 */
export function compileForDelivery(): void {
  setFlagsFromString('--invocation-count-for-turbofan=100000');
}

/**
 * @param options `onWarning`: by default, warnings are lines on standard error
 * @throws {DeskbellError} ERR_CONFIGURATION for a missing subject or a proxy that is not valid; ERR_FILE
 */
export async function openSender(
  configuration: Configuration,
  { store, vapidKeys, receiptKey }: Pick<DataDirectory, 'store' | 'vapidKeys' | 'receiptKey'>,
  { environment, output }: Pick<Context, 'environment' | 'output'>,
  {
    onWarning = (warning) => output.diagnostic(`deskbell: ${warning}`),
    onFigures,
    json = false,
    writeMessages = printMessages(output, json),
  }: Pick<SenderOptions, 'onWarning' | 'onFigures'> & {
    /** Whether the command prints JSON Lines. */
    readonly json?: boolean | undefined;
    /** Writes the lines of `logMessages`. */
    readonly writeMessages?: MessageLog['write'];
  } = {},
): Promise<Sender & AsyncDisposable> {
  const { subject: _subject, ca, logMessages, ...options } = pick(configuration, senderSettings);
  const subject = contactOf(configuration);
  if (subject === undefined) {
    throw new DeskbellError(
      'ERR_CONFIGURATION',
      'Sending needs a contact for push services: give --subject mailto:you@example.org once, and the data directory keeps it; or ' +
        `${variableOf('subject')}, or the entry "subject" of the configuration file`,
    );
  }
  const { createSender } = await import('../../delivery/sender.ts');
  const { proxyFromEnvironment } = await import('../../transport/proxy.ts');
  const sender = createSender({
    ...options,
    vapid: { ...vapidKeys, subject },
    ca: await readCertificates(ca),
    store,
    receiptKey,
    onWarning,
    onFigures,
    messageLog: logMessages === 'off' ? undefined : { of: logMessages, write: writeMessages },
    ...proxyFromEnvironment(environment),
  });
  return Object.assign(sender, { [Symbol.asyncDispose]: () => sender.close() });
}

/** @throws {DeskbellError} ERR_FILE, ERR_CONFIGURATION for a file without a certificate */
export const readCertificates = (paths: readonly string[]): Promise<string[]> =>
  Promise.all(paths.map(readCertificate));

async function readCertificate(path: string): Promise<string> {
  const text = await readTextFile(path, `The certificate file ${path}`);
  try {
    // TLS would silently ignore a file without a certificate.
    void new X509Certificate(text);
  } catch (cause) {
    throw new DeskbellError('ERR_CONFIGURATION', `${path} does not start with a certificate (PEM)`, {
      cause,
    });
  }
  return text;
}
