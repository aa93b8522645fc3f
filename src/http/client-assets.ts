import { extname } from 'node:path';
import { lookUp } from '../errors/look-up.ts';

export interface ClientFile {
  readonly contentType: string;
  read(): Promise<string | Buffer>;
}

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
};

export function clientFile(file: string): ClientFile {
  const ending = extname(file);
  const read = ending === '.css' ? readStyle : ending === '.png' ? readBytes : readClientFile;
  return { contentType: lookUp(contentTypes, ending)!, read: () => read(file) };
}

/** Puts the style that all pages share first. */
async function readStyle(file: string): Promise<string> {
  return (await readClientFile('base.css')) + (await readClientFile(file));
}

/** @param file path in the client's folder, with `.js` for scripts */
export const readClientFile = async (file: string): Promise<string> => (await readBytes(file)).toString();

async function readBytes(file: string): Promise<Buffer> {
  const { clientFileBytes } = await import('./client-folder.ts');
  return clientFileBytes(file);
}
