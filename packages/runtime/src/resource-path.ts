import { FlotillaError, type Ref, type Resource } from '@flotilla/api';
import { RuntimeErrorCode } from './errors.ts';

/** A name may hold anything but what would change the path: RBAC names have colons and capitals. */
function segment(value: string, what: string): string {
  if (value === '' || value === '.' || value === '..' || value.length > 253 || /[/%]/.test(value) || hasControl(value)) {
    const shown = JSON.stringify(value.slice(0, 80));
    throw new FlotillaError(
      RuntimeErrorCode.invalidRef,
      `${what} ${shown} is not usable in a path: give 1 to 253 characters without "/" and "%", not "." or ".."`,
    );
  }
  return encodeURIComponent(value);
}

const hasControl = (value: string): boolean => value.split('').some((char) => char < ' ' || char === '\u007f');

/** Path of a kind's collection, in one namespace or (absent) in all. */
export function collectionPath(kind: Resource, namespace?: string): string {
  const [group, version] = kind.apiVersion.includes('/') ? kind.apiVersion.split('/', 2) : ['', kind.apiVersion];
  const root = group
    ? `/apis/${segment(group, 'group')}/${segment(version ?? '', 'version')}`
    : `/api/${segment(version ?? '', 'version')}`;
  if (!kind.namespaced || namespace === undefined) return `${root}/${segment(kind.plural, 'plural')}`;
  return `${root}/namespaces/${segment(namespace, `namespace of ${kind.kind}`)}/${segment(kind.plural, 'plural')}`;
}

/** Path of one object. A namespaced kind needs a namespace. */
export function objectPath(kind: Resource, ref: Ref, subresource?: string): string {
  const path = `${collectionPath(kind, needNamespace(kind, ref))}/${segment(ref.name, `name of ${kind.kind}`)}`;
  return subresource ? `${path}/${segment(subresource, 'subresource')}` : path;
}

/** The namespace a call on one object goes to; undefined for cluster-scoped kinds. */
export function needNamespace(kind: Resource, ref: { readonly namespace?: string; readonly name?: string }): string | undefined {
  if (!kind.namespaced) return undefined;
  if (ref.namespace) return ref.namespace;
  throw new FlotillaError(
    RuntimeErrorCode.invalidRef,
    `namespace of ${kind.kind} ${JSON.stringify(ref.name ?? '')} is missing: the kind is namespaced, name one`,
  );
}

/** Query string of what is set; empty when nothing is. */
export function query(parameters: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) if (value !== undefined && value !== '') search.set(key, String(value));
  return search.size === 0 ? '' : `?${search.toString()}`;
}
