// Writes what `npm pack` adds about the packages that an install brings: their licences (THIRD-PARTY-NOTICES.txt) and a
// bill of materials (sbom.cdx.json, CycloneDX). Both come out equal for equal dependencies.
import { execFileSync } from 'node:child_process';
import { globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** An entry of package-lock.json. */
interface LockedPackage {
  readonly version: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

interface InstalledPackage {
  /** Of its folder, from the root of the repository. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly license: string | undefined;
}

interface Bill {
  serialNumber?: string;
  readonly metadata: { timestamp?: string; readonly component: { name: string; readonly 'bom-ref': string } };
  components: readonly { readonly 'bom-ref': string }[];
  dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

if (import.meta.main) {
  writeFileSync(join(root, 'THIRD-PARTY-NOTICES.txt'), describeLicences());
  writeFileSync(join(root, 'sbom.cdx.json'), describeMaterials());
}

function describeLicences(): string {
  const sections = installedPackages().map(({ path, name, version, license }) => {
    if (license === undefined) throw new Error(`package-lock.json names no licence of ${name}.`);
    return section(`${name} ${version}`, `Licence: ${license}\n\n${readLicenceTexts(join(root, path))}`);
  });
  return `Third-party notices

An install of Deskbell brings the packages below, each under its own licence. What is linked into the native accelerator
comes first.

${[...describeLinkedLibraries(), ...sections.sort()].join('\n')}`;
}

/** What an install brings: everything that is locked and not for development alone. */
function installedPackages(): readonly InstalledPackage[] {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, LockedPackage>>;
  };
  return Object.entries(packages)
    .filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional)
    .map(([path, { version, license }]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
      return { path, name, version, license };
    });
}

/** The libraries inside of prebuilt accelerators: their licences are beside them. */
function describeLinkedLibraries(): readonly string[] {
  return linkedLicences().map((file) =>
    section(`${basename(file).split('.')[1]!}, in ${dirname(file)}`, readIndented(join(root, file))),
  );
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

function describeMaterials(): string {
  const words = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=library'];
  const output = execFileSync('npm', words, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 });
  const bill = JSON.parse(output) as Bill;
  // Both are new at every run.
  delete bill.serialNumber;
  delete bill.metadata.timestamp;
  // npm takes the name of the folder.
  const { name } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly name: string };
  bill.metadata.component.name = name;
  // `npm sbom --omit=dev` leaves out whatever development needs as well.
  const kept = new Set(installedPackages().map((installed) => `${installed.name}@${installed.version}`));
  bill.components = bill.components.filter((component) => kept.has(component['bom-ref']));
  bill.components = [...bill.components, ...describeLinkedComponents()];
  bill.dependencies = bill.dependencies
    .filter(({ ref }) => kept.has(ref) || ref === bill.metadata.component['bom-ref'])
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => kept.has(other)) }));
  return `${JSON.stringify(bill)}\n`;
}

/** What native/requirements.txt pins is linked into the accelerator where its licence is beside it. */
function describeLinkedComponents(): Bill['components'] {
  if (linkedLicences().length === 0) return [];
  const pins = readFileSync(join(root, 'native/requirements.txt'), 'utf8').matchAll(
    /^([\w-]+-static)==(\S+)/gm,
  );
  return Array.from(pins, ([, name, version]) => {
    const purl = `pkg:pypi/${name}@${version}`;
    return {
      'bom-ref': purl,
      type: 'library',
      name,
      version,
      purl,
      licenses: [{ license: { id: 'Apache-2.0' } }],
    };
  });
}

function linkedLicences(): readonly string[] {
  return globSync('prebuilds/*/LICENSE.*.txt', { cwd: root }).sort();
}
