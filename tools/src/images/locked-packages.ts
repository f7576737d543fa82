import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { type Architecture, architectureNames } from './cache-folder.ts';

/** One Debian package, as exactly as it can be named. */
export const LockedPackage = z.object({
  name: z.string(),
  version: z.string(),
  /** Of the `.deb` file, hexadecimal. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
export type LockedPackage = z.output<typeof LockedPackage>;

/** What packages are for: every image, or the queue server in the hub's. */
const packageSets = ['base', 'redis'] as const;
export type PackageSet = (typeof packageSets)[number];

const LockFile = z.object({ packages: z.record(z.enum(packageSets), z.record(z.enum(['amd64', 'arm64']), z.array(LockedPackage))) });

const FILE = fileURLToPath(new URL('./debian-packages.lock.json', import.meta.url));

/** The packages of a set for an architecture, by the committed list; `npm run images -- --renew` writes it. */
export async function lockedPackages(set: PackageSet, architecture: Architecture): Promise<LockedPackage[]> {
  return LockFile.parse(JSON.parse(await readFile(FILE, 'utf8'))).packages[set][architecture];
}

/** Writes the committed list anew; what `newest` answers is what it says from then on. Resolves to the lines that changed. */
export async function renewLock(newest: (set: PackageSet, architecture: Architecture) => Promise<LockedPackage[]>): Promise<string[]> {
  const { packages } = LockFile.parse(JSON.parse(await readFile(FILE, 'utf8')));
  const changes: string[] = [];
  for (const set of packageSets) {
    for (const architecture of architectureNames) {
      const found = await newest(set, architecture);
      for (const { name, version } of found) {
        const before = packages[set][architecture].find((one) => one.name === name)?.version ?? 'none';
        if (before !== version) changes.push(`${name}:${architecture} ${before} → ${version}`);
      }
      packages[set][architecture] = found.map(({ name, version, sha256 }) => ({ name, version, sha256 }));
    }
  }
  await writeFile(FILE, `${JSON.stringify({ packages }, undefined, 2)}\n`);
  return changes;
}
