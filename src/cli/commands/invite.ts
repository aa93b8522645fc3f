// `deskbell invite`: a link and its QR code, which let one browser subscribe as a given person. The link can be used
// once. Each character of the code shows two modules, one above the other.
import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { checkNewUser } from '../../audience/user-and-tags.ts';
import { isoTime } from '../../delivery/broadcast/format-broadcast.ts';
import { DeskbellError } from '../../errors/deskbell-error.ts';
import { isLoopback } from '../../http/client-address.ts';
import { hashInvitation } from '../../store/invitations.ts';
import type { Context } from '../command.ts';
import { parsePublicUrl } from '../configuration/addresses.ts';
import type { Configuration } from '../configuration/configuration.ts';
import { createDataCommand } from '../data/data-command.ts';
import type { JsonFlag } from '../output/output.ts';
import { addressOf } from '../serve/listening.ts';

/** Width of the light margin around the code, in modules. */
const border = 2;
/** Characters for two modules. The index is 1 if the lower module is dark, plus 2 if the upper module is dark. */
const characters = [' ', '▄', '▀', '█'] as const;

/** @returns lines of equal length, for dark characters on a light background */
export async function drawQrCode(text: string): Promise<readonly string[]> {
  const { encodeQR } = await import('qr');
  const modules = encodeQR(text, 'raw', { border });
  return modules.flatMap((above, row) => {
    if (row % 2 === 1) return [];
    const below = modules[row + 1];
    return above
      .map((isDark, column) => characters[Number(isDark) * 2 + Number(below?.[column] ?? false)] ?? ' ')
      .join('');
  });
}

export function inviteCommand({ environment, output }: Context): Command {
  return createDataCommand(environment, {
    name: 'invite',
    description:
      'Prints a link and, on a terminal, its QR code. If a browser opens the link within ten minutes and ' +
      'subscribes, it gets the messages to this person. The link works once. Opening the link without subscribing, ' +
      'as link previews do, does not use up the link. The link opens the service’s page. With "serve --push-only", ' +
      'the service has this page only if you also set "--registrations invited".',
    settings: ['publicUrl', 'host', 'port', 'prefix'],
    json: 'Prints JSON.',
    examples: ['deskbell invite me', 'deskbell invite me --public-url https://bell.example.org'],
  })
    .argument('<user>', 'Your own ID for the person.')
    .onData(async ({ store, configuration }, given: string, flags: JsonFlag) => {
      const { url, isPublic } = findUrl(configuration);
      const user = checkNewUser(given, '');
      const token = randomBytes(16).toString('base64url');
      const expiresAt = isoTime(await store.invitations.add({ tokenHash: hashInvitation(token), user }));
      const link = `${url.href}#invitation=${token}`;
      await output.result(flags, { user, link, expiresAt }, link);
      if (flags.json) return;
      if (!isPublic) {
        output.diagnostic(
          `The link works on this machine only, so there is no QR code. For other devices, ${remedy}.`,
        );
      } else if (output.isTerminal) {
        for (const line of await drawQrCode(link))
          await output.line(output.style(['black', 'bgWhiteBright'], line));
      }
      output.diagnostic(`It can be used once, until ${expiresAt}.`);
    });
}

const remedy =
  'give --public-url with the https URL of the service, such as https://bell.example.org, to serve or here';

/** @throws {DeskbellError} ERR_CONFIGURATION if browsers could not open the link */
function findUrl({ publicUrl, host, port, prefix }: Configuration): {
  readonly url: URL;
  readonly isPublic: boolean;
} {
  if (publicUrl === undefined && (!isLoopback(host) || port === 0)) {
    throw new DeskbellError('ERR_CONFIGURATION', `The link needs the address of the service: ${remedy}`);
  }
  const url = parsePublicUrl(publicUrl ?? `${addressOf(host, port)}${prefix}`);
  return { url, isPublic: url.protocol === 'https:' };
}
