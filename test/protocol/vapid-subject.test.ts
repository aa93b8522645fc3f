import assert from 'node:assert/strict';
import { test } from 'node:test';

import { checkVapidSubject, findAppleSubjectFault } from '../../src/protocol/vapid.ts';

for (const subject of [
  'mailto:push@example.org',
  'MAILTO:push@Example.ORG',
  'mailto:push@mail.example.co.uk?subject=push',
  'mailto:push@example.org.',
  'mailto:push@bücher.de',
  'mailto:push@xn--bcher-kva.xn--p1ai',
  'https://example.org/contact',
  'https://push.example.org:8443/',
]) {
  test(`Apple takes ${subject}`, () => {
    checkVapidSubject(subject);
    assert.equal(findAppleSubjectFault(subject), undefined);
  });
}

for (const subject of [
  'mailto:push@printer.local',
  'mailto:push@PRINTER.LOCAL',
  'mailto:push@printer.local.',
  'mailto:push@nowhere.invalid',
  'mailto:push@a.test',
  'mailto:push@a.example',
  'mailto:push@a.internal',
  'mailto:push@router.lan',
  'mailto:push@a.home.arpa',
  'mailto:push@intranet',
  'mailto:push@192.0.2.1',
  'mailto:push@example.123',
  'mailto:push@-.org',
  'https://intranet/contact',
  'https://wiki.local/contact',
  'https://192.0.2.1/',
]) {
  test(`Apple refuses ${subject}`, () => {
    checkVapidSubject(subject);
    assert.match(findAppleSubjectFault(subject) ?? '', /^BadJwtToken: .*such as mailto:push@your\.domain\.$/);
  });
}
