// What follows from the public URL where it is not given: the contact for push services, and the title of a message.
import { hostname } from 'node:os';
import type { Configuration } from './configuration.ts';
import { isLocal, parsePublicUrl } from './public-url.ts';

/** The subject, or the origin of the public URL where push services could open that. */
export function contactOf({
  subject,
  publicUrl,
}: Pick<Configuration, 'subject' | 'publicUrl'>): string | undefined {
  if (subject !== undefined || publicUrl === undefined) return subject;
  const url = parsePublicUrl(publicUrl);
  return url.protocol === 'https:' && !isLocal(url) ? url.origin : undefined;
}

/** The host of the public URL, or the name of this machine. */
export const hostTitle = ({ publicUrl }: Pick<Configuration, 'publicUrl'>): string =>
  publicUrl === undefined ? hostname() : parsePublicUrl(publicUrl).host;
