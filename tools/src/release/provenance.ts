import { readdir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { fileDigest } from '../images/layer.ts';
import type { ReleaseSource } from './source.ts';

/** A file of a release. */
interface ReleaseFile {
  /** Path in the release, with slashes. */
  readonly path: string;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** Every file below a folder with its digest, by path. */
export async function filesBelow(folder: string): Promise<ReleaseFile[]> {
  const found = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const paths = found.map((entry) => join(entry.parentPath, entry.name)).toSorted();
  return Promise.all(
    paths.map(async (path) => ({
      path: path.slice(folder.length + 1).replaceAll(sep, '/'),
      sha256: await fileDigest(path, 'sha256', 'hex'),
    })),
  );
}

/** `SHA256SUMS`, as `sha256sum --check` reads it. */
export const checksums = (files: readonly ReleaseFile[]): string => files.map(({ path, sha256 }) => `${sha256}  ${path}\n`).join('');

/** An in-toto statement (SLSA provenance 1.0) of a release's files. No time and no machine: the same commit gives the same bytes. */
export function provenance(
  source: ReleaseSource,
  files: readonly ReleaseFile[],
  locks: readonly ReleaseFile[],
  parameters: object,
): unknown {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: files.map(({ path, sha256 }) => ({ name: path, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://flotilla.io/release/v1',
        externalParameters: { version: source.version, ...parameters },
        internalParameters: { node: process.versions.node },
        resolvedDependencies: [
          { name: 'source', digest: { gitCommit: source.commit } },
          ...locks.map(({ path, sha256 }) => ({ name: path, digest: { sha256 } })),
        ],
      },
      runDetails: { builder: { id: 'https://flotilla.io/release/npm-run-release' } },
    },
  };
}
