import type { ClusterOperator, ClusterVersion } from '@flotilla/api/config';
import type { ConfigMap } from '@flotilla/api/core';
import { type FieldError, validateClusterVersion, withoutInvalid } from '@flotilla/release';
import type { WatchCache } from '@flotilla/runtime';

/** Watch caches of a ClusterVersion's reconcile. */
export interface VersionCaches {
  readonly versions: WatchCache<ClusterVersion>;
  readonly operators: WatchCache<ClusterOperator>;
  readonly adminGates: WatchCache<ConfigMap>;
  readonly adminAcks: WatchCache<ConfigMap>;
}

interface ObservedVersion {
  readonly object: ClusterVersion;
  /** Without the fields that are wrong. */
  readonly effective: ClusterVersion;
  readonly invalid: readonly FieldError[];
}

/** Reads a ClusterVersion; undefined when there is none. */
export function observe(name: string, { versions }: VersionCaches, featureGates: ReadonlySet<string>): ObservedVersion | undefined {
  const object = versions.get({ name });
  if (!object) return undefined;
  const invalid = validateClusterVersion(object, { featureGates });
  return { object, effective: withoutInvalid(object, invalid), invalid };
}
