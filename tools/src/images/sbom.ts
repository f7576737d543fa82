/** Bills of materials of the images, in the form of CycloneDX 1.6 (ECMA-424). Pure. */
import { z } from 'zod';
import type { Architecture } from './cache-folder.ts';
import type { LockedPackage } from './locked-packages.ts';

const LockFile = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({ version: z.string().optional(), integrity: z.string().optional(), license: z.string().optional() }),
  ),
});

/** One part of an image. */
interface Component {
  readonly type: 'library' | 'application';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl?: string;
  readonly cpe?: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly { readonly expression: string }[];
}

/** A bill of materials: plain JSON. */
interface Bom {
  readonly bomFormat: 'CycloneDX';
  readonly specVersion: '1.6';
  readonly version: 1;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
}

/** The bill of one thing of ours. No serial number and no time: the same parts give the same bytes. */
export function billOf(subject: { name: string; version: string }, components: readonly Component[]): Bom {
  const sorted = components.toSorted((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1));
  const component: Component = {
    type: 'application',
    'bom-ref': `flotilla/${subject.name}`,
    ...subject,
    licenses: [{ expression: 'Apache-2.0' }],
  };
  return { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, metadata: { component }, components: sorted };
}

/**
 * npm packages by their folders (`node_modules/a`, `node_modules/a/node_modules/b`), as the lock file pins them.
 * Throws when the lock file does not know one, as then nobody knows what was bundled.
 */
export function npmComponents(folders: readonly string[], lockFile: string): Component[] {
  const { packages } = LockFile.parse(JSON.parse(lockFile));
  return folders.map((folder) => {
    const { version, integrity, license } = packages[folder] ?? {};
    if (!version) throw new Error(`package-lock.json has no ${folder}, which is in a bundle: run npm install`);
    const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
    const sha512 = integrity?.startsWith('sha512-') ? Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex') : undefined;
    return {
      type: 'library',
      'bom-ref': `${purl}#${folder}`,
      name,
      version,
      purl,
      ...(sha512 && { hashes: [{ alg: 'SHA-512', content: sha512 }] }),
      ...(license && { licenses: [{ expression: license }] }),
    };
  });
}

/** The Node of the base layer; scanners know it by its CPE. */
export const nodeComponent = (version: string): Component => ({
  type: 'application',
  'bom-ref': `node@${version}`,
  name: 'node',
  version,
  cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
  licenses: [{ expression: 'MIT' }],
});

/** The Debian packages of the base layer. */
export const debianComponents = (packages: readonly LockedPackage[], architecture: Architecture): Component[] =>
  packages.map(({ name, version, sha256 }) => {
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-12`;
    return { type: 'library', 'bom-ref': purl, name, version, purl, hashes: [{ alg: 'SHA-256', content: sha256 }] };
  });
