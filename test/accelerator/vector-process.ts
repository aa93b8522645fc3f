// Encrypts the example of RFC 8291 §5 with the addon named on the command line, tells its parent, and waits.
import { createRequire } from 'node:module';

import { createAddonEncryptBatch, type Addon } from '../../src/accelerator/addon.ts';

const bytes = (text: string): Buffer => Buffer.from(text, 'base64url');
const salt = 'DGv6ra1nlYgDCS1FRnbzlw';
const privateKey = 'yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw';

const [, , file, method] = process.argv;
const addon = createRequire(import.meta.url)(file!) as Addon;
const encryptBatch = createAddonEncryptBatch({
  addon,
  usesMultiBuffer: method === 'multi-buffer' && addon.hasMultiBuffer(),
  fixed: Buffer.concat(Array.from({ length: 8 }, () => [bytes(salt), bytes(privateKey)]).flat()),
});
const message = {
  plaintext: Buffer.from('When I grow up, I want to be a watermelon'),
  subscription: {
    p256dh: bytes('BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4'),
    auth: bytes('BTBZMqHH6r4Tts7J_aSIgg'),
  },
};
const bodies = encryptBatch(Array.from({ length: 8 }, () => message));
process.send?.('encrypted');
process.once('disconnect', () => bodies.splice(0)); // until then the bodies are in use, and in memory
