import { defined, flagOf, isSameButZeros, type Json, objectAt, objectsAt, textAt } from '../json-values.ts';
import { mergeContainers, withFieldVersion } from './containers.ts';
import { mergeByKey, mergeMaps, mergeMetadata, textOr } from './merge.ts';
import { mergePodSecurity } from './security-context.ts';

/** The template of a workload (spec/cvo 3.5). */
export function mergePodTemplate(live: unknown, wanted: unknown): Json {
  const [before, next] = [objectAt(live), objectAt(wanted)];
  return { ...before, metadata: mergeMetadata(before.metadata, next.metadata), spec: mergePodSpec(before.spec, next.spec) };
}

/** Fields that a manifest does not decide stay as they are: host namespaces, DNS settings, pull secrets, scheduler, spread. */
function mergePodSpec(live: unknown, wanted: unknown): Json {
  const [before, next] = [objectAt(live), objectAt(wanted)];
  const account = textOr(next.serviceAccountName ?? next.serviceAccount, before.serviceAccountName);
  return defined({
    ...before,
    containers: mergeContainers(before.containers, next.containers, next.hostNetwork === true),
    initContainers: mergeContainers(before.initContainers, next.initContainers, next.hostNetwork === true),
    volumes: mergeByKey(before.volumes, next.volumes, {
      key: ({ name }) => textAt(name),
      merge: (_, volume) => withVolumeDefaults(volume),
    }),
    restartPolicy: textOr(next.restartPolicy, before.restartPolicy),
    automountServiceAccountToken: next.automountServiceAccountToken,
    serviceAccountName: account,
    // the server keeps its older name beside it
    serviceAccount: before.serviceAccount === undefined ? undefined : account,
    hostNetwork: flagOf(next.hostNetwork),
    hostUsers: next.hostUsers,
    nodeSelector: mergeMaps(before.nodeSelector, next.nodeSelector),
    securityContext: mergePodSecurity(before.securityContext, next.securityContext),
    affinity: mergeAffinity(before.affinity, next.affinity),
    tolerations: mergeTolerations(before.tolerations, next.tolerations),
    priorityClassName: textOr(next.priorityClassName, before.priorityClassName),
    priority: next.priority,
    shareProcessNamespace: next.shareProcessNamespace,
    dnsPolicy: next.dnsPolicy ?? 'ClusterFirst',
    terminationGracePeriodSeconds: next.terminationGracePeriodSeconds ?? 30,
  });
}

function mergeAffinity(live: unknown, wanted: unknown): unknown {
  if (wanted === undefined || wanted === null) return live;
  const { nodeAffinity, podAffinity, podAntiAffinity } = objectAt(wanted);
  return defined({ ...objectAt(live), nodeAffinity, podAffinity, podAntiAffinity });
}

/** Those of the manifest, once each; others stay. */
function mergeTolerations(live: unknown, wanted: unknown): unknown {
  const next = objectsAt(wanted);
  const seen = new Set<Json>();
  const kept = objectsAt(live).filter((toleration) => {
    const same = next.find((one) => isSameButZeros(one, toleration));
    const isRepeated = same !== undefined && seen.has(same);
    if (same) seen.add(same);
    return !isRepeated;
  });
  const merged = [...kept, ...next.filter((toleration) => !seen.has(toleration))];
  return merged.length > 0 ? merged : undefined;
}

type Defaults = (source: Json) => Json;
const withMode: Defaults = (source) => ({ defaultMode: 0o644, ...source });
const withFields: Defaults = (source) => ({
  ...source,
  ...(source.items !== undefined && {
    items: objectsAt(source.items).map((item) =>
      item.fieldRef === undefined ? item : { ...item, fieldRef: withFieldVersion(item.fieldRef) },
    ),
  }),
});

/** Defaults that a server fills in, by the kind of volume. */
const sources: Readonly<Record<string, Defaults>> = {
  hostPath: (source) => ({ type: '', ...source }),
  secret: withMode,
  configMap: withMode,
  downwardAPI: (source) => withMode(withFields(source)),
  projected: (source) =>
    withMode({
      ...source,
      sources: objectsAt(source.sources).map((one) => ({
        ...one,
        ...(one.serviceAccountToken !== undefined && {
          serviceAccountToken: { expirationSeconds: 3600, ...objectAt(one.serviceAccountToken) },
        }),
        ...(one.downwardAPI !== undefined && { downwardAPI: withFields(objectAt(one.downwardAPI)) }),
      })),
    }),
  iscsi: (source) => ({ iscsiInterface: 'default', ...source }),
  rbd: (source) => ({ pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring', ...source }),
  azureDisk: (source) => ({ cachingMode: 'ReadWrite', kind: 'Shared', fsType: 'ext4', readOnly: false, ...source }),
  scaleIO: (source) => ({ storageMode: 'ThinProvisioned', fsType: 'xfs', ...source }),
};

function withVolumeDefaults(volume: Json): Json {
  const [kind] = Object.keys(volume).filter((key) => key !== 'name' && volume[key] !== null && volume[key] !== undefined);
  if (kind === undefined) return { ...volume, emptyDir: {} };
  return { ...volume, [kind]: (sources[kind] ?? ((source: Json) => source))(objectAt(volume[kind])) };
}
