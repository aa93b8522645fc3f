// Encrypts the example of RFC 8291 §5 with the addon named on the command line, tells its parent, and waits.
import { createRequire } from 'node:module';

import { encryptWithAddon, type Addon } from '../../src/accelerator/addon.ts';

const bytes = (text: string): Buffer => Buffer.from(text, 'base64url');
const salt = 'DGv6ra1nlYgDCS1FRnbzlw';
const publicKey = 'BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8';
const privateKey = 'yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw';

const addon = createRequire(import.meta.url)(process.argv[2]!) as Addon;
const encrypt = encryptWithAddon(addon, Buffer.concat([salt, publicKey, privateKey].map(bytes)));
const body = encrypt(Buffer.from('When I grow up, I want to be a watermelon'), {
  p256dh: bytes('BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4'),
  auth: bytes('BTBZMqHH6r4Tts7J_aSIgg'),
});
process.send?.('encrypted');
process.once('disconnect', () => body.fill(0)); // until then the body is in use, and in memory
