import { refKey } from '@flotilla/api';
import type { HorizontalPodAutoscaler } from '@flotilla/api/core';
import type { Manifest } from '../payload/manifest.ts';

/** Key of an object as autoscalers name it: the version of its API does not count. */
export const scaledKeyOf = ({ group, kind, namespace, name }: Pick<Manifest, 'group' | 'kind' | 'namespace' | 'name'>): string =>
  `${group}/${kind}|${refKey({ namespace, name })}`;

/** Key of the object whose replicas an autoscaler sets; undefined for one that cannot be read. */
export function scaleTargetOf({ metadata: { namespace = '' }, spec }: HorizontalPodAutoscaler): string | undefined {
  if (!spec) return undefined;
  const { apiVersion, kind, name } = spec.scaleTargetRef;
  const [group = '', version] = (apiVersion ?? '').split('/');
  return scaledKeyOf({ group: version === undefined ? '' : group, kind, namespace, name });
}
