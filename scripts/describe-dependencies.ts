// Writes what `npm pack` adds about the packages that an install brings: their licences (THIRD-PARTY-NOTICES.txt) and a
// bill of materials (sbom.cdx.json, CycloneDX). Both come out equal for equal dependencies.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeMaterials } from './bill-of-materials.ts';
import { readLockedPackages } from './locked-packages.ts';
import { bundledPackages, root } from './repository.ts';

if (import.meta.main) {
  writeFileSync(join(root, 'THIRD-PARTY-NOTICES.txt'), describeLicences());
  writeFileSync(join(root, 'sbom.cdx.json'), describeMaterials());
}

function describeLicences(): string {
  const { packages } = readLockedPackages();
  const sections = packages.map(({ path, name, version, license }) => {
    if (license === undefined) throw new Error(`package-lock.json names no licence of ${name}.`);
    return section(`${name} ${version}`, `Licence: ${license}\n\n${readLicenceTexts(join(root, path))}`);
  });
  return `Third-party notices

An install of Deskbell brings the packages below, ${bundledPackages.join(' and ')} as part of its code, each under its own licence. Those that Deskbell names itself come in
exactly these versions; what they depend on comes in these or in later ones.

${sections.sort().join('\n')}`;
}

function section(heading: string, text: string): string {
  return `${heading}\n${'-'.repeat(heading.length)}\n\n${text}`;
}

/** The licence and notice files of a package. */
function readLicenceTexts(folder: string): string {
  const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file));
  if (files.length === 0) return 'The package holds no licence text.\n';
  return files
    .sort()
    .map((file) => readIndented(join(folder, file)))
    .join('\n');
}

function readIndented(file: string): string {
  const text = readFileSync(file, 'utf8').replaceAll('\r', '').replace(/^\n+/, '').trimEnd();
  return `${text.replaceAll(/^(?=.)/gm, '    ')}\n`;
}
