// The bill of materials of the package (CycloneDX), made of package-lock.json: the same for the same dependencies, whichever npm
// packs it. The older ones have no `npm sbom`.
import { readLockedPackages, type LockedPackage } from './locked-packages.ts';

interface Component {
  readonly 'bom-ref': string;
  readonly type: 'library';
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses: readonly [
    { readonly license: { readonly id: string } } | { readonly expression: string },
  ];
}

export function describeMaterials(): string {
  const locked = readLockedPackages();
  const { project } = locked;
  // one may be installed at several places
  const packages = [...new Map(locked.packages.map((one) => [refOf(one), one])).values()];
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { lifecycles: [{ phase: 'build' }], component: toComponent(project) },
    components: packages.map(toComponent),
    dependencies: [project, ...packages].map((one) => ({
      ref: refOf(one),
      dependsOn: one.dependencies.map(refOf),
    })),
  };
  return `${JSON.stringify(bill)}\n`;
}

const refOf = ({ name, version }: LockedPackage): string => `${name}@${version}`;

function toComponent(locked: LockedPackage): Component {
  const { name, version, license, sha512 } = locked;
  if (license === undefined) throw new Error(`package-lock.json names no licence of ${name}.`);
  return {
    'bom-ref': refOf(locked),
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    ...(sha512 !== undefined && { hashes: [{ alg: 'SHA-512', content: sha512 }] }),
    licenses: [/ (?:or|and|with) /i.test(license) ? { expression: license } : { license: { id: license } }],
  };
}
