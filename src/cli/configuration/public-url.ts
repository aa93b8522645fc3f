// The URL of the service as browsers reach it, such as that of a proxy in front of it.
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { isLoopback } from '../../http/client-address.ts';

/**
 * @returns the URL of a folder: its path ends with a slash
 * @throws {DeskbellError} ERR_CONFIGURATION
 */
export function parsePublicUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw wrong('it must be a URL such as https://bell.example.org');
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal(url))) {
    throw wrong(
      'it must begin with "https:", since browsers subscribe on no other origin but this machine’s own',
    );
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw wrong('it must have scheme, host, port and path alone');
  }
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

/** Whether it is reached on this machine alone. */
export const isLocal = ({ hostname: name }: URL): boolean => isLoopback(name.replaceAll(/[[\]]/g, ''));

const wrong = (detail: string): DeskbellError => new DeskbellError('ERR_CONFIGURATION', detail);
