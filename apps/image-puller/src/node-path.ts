import { lstat, readlink } from 'node:fs/promises';
import { posix } from 'node:path';

/** Folder of the pod below which the node's paths are mounted. */
const NODE_ROOT = '/host';
/** Links in one path, as the kernel bounds them. */
const MAX_LINKS = 40;

/**
 * Follows the links of a node's file as the node does: an absolute one leads below `root` too. Ends at the first part that is missing. Other paths are
 * returned unchanged.
 */
export async function nodePath(path: string, root = NODE_ROOT): Promise<string> {
  if (!path.startsWith(`${root}/`)) return path;
  const rest = path.slice(root.length).split('/').filter(Boolean);
  let at = '/';
  for (let links = 0; rest.length > 0; ) {
    const next = posix.join(at, rest.shift() ?? '');
    const target = await linkOf(root + next);
    if (target === undefined) at = next;
    else if (++links > MAX_LINKS) return path;
    else {
      rest.unshift(...target.split('/').filter(Boolean));
      if (target.startsWith('/')) at = '/';
    }
  }
  return root + at;
}

/** Place that a path leads to by its links; undefined where it is no link. */
export async function leadsTo(path: string): Promise<string | undefined> {
  const target = await nodePath(path);
  if (target !== path) return target;
  const link = await linkOf(path);
  return link === undefined ? undefined : posix.resolve(posix.dirname(path), link);
}

/** A path of this pod as the node has it. */
export const onNode = (path: string): string => (path.startsWith(`${NODE_ROOT}/`) ? path.slice(NODE_ROOT.length) : path);

/** Target of a link; undefined for anything else. */
async function linkOf(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isSymbolicLink() ? readlink(path) : undefined;
}
