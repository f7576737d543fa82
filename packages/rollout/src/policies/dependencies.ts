import { isJsonObject } from '@flotilla/api';
import type { ManagedPolicy } from './policies.ts';

/** A policy that would be enforced before something it depends on. */
interface UnresolvableDependency {
  readonly policy: string;
  readonly dependency: string;
}

/**
 * The first policy whose dependency comes later in the order of the upgrade (spec/talm 2.6.10). A dependency without a
 * namespace is looked for in the policy's own, as the policy framework does; kinds other than Policy are none of ours.
 */
export function findUnresolvableDependency(
  forUpgrade: readonly Pick<ManagedPolicy, 'name' | 'namespace' | 'policy'>[],
): UnresolvableDependency | undefined {
  const positions = new Map(forUpgrade.map(({ namespace, name }, index) => [`${namespace}/${name}`, index]));
  for (const [index, { name, namespace, policy }] of forUpgrade.entries()) {
    for (const dependency of policy.spec?.dependencies ?? []) {
      if (!isJsonObject(dependency) || typeof dependency.name !== 'string') continue;
      if (dependency.kind !== undefined && dependency.kind !== 'Policy') continue;
      const where = typeof dependency.namespace === 'string' && dependency.namespace !== '' ? dependency.namespace : namespace;
      const position = positions.get(`${where}/${dependency.name}`);
      if (position !== undefined && position > index) return { policy: name, dependency: dependency.name };
    }
  }
  return undefined;
}
