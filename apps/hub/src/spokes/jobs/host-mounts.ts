/** Mounts folders of a node's host under /host in a container, for images that chroot there. Pure. */

/** One path of the host. */
export interface HostMount {
  readonly path: string;
  readonly readOnly?: true;
  /** Default: Directory. */
  readonly type?: 'File' | 'Socket' | 'DirectoryOrCreate';
  /** Name of its volume; default: the path with dashes. */
  readonly name?: string;
}

/** Volume names must not contain a dot. */
const volumeName = ({ path, name }: HostMount): string => name ?? `host${path.replaceAll(/[/.]/g, '-')}`;

/** Builds the empty `/host` and the mounts below it. */
export function mountHost(mounts: readonly HostMount[]): { volumes: Record<string, unknown>[]; volumeMounts: Record<string, unknown>[] } {
  return {
    volumes: [
      { name: 'host', emptyDir: {} },
      ...mounts.map((mount) => ({ name: volumeName(mount), hostPath: { path: mount.path, type: mount.type ?? 'Directory' } })),
    ],
    volumeMounts: [
      { name: 'host', mountPath: '/host' },
      ...mounts.map((mount) => ({
        name: volumeName(mount),
        mountPath: `/host${mount.path}`,
        ...(mount.readOnly && { readOnly: true }),
      })),
    ],
  };
}
