import { defined, isSame, type Json, objectAt, objectsAt, textAt } from '../json-values.ts';
import { FieldOwners } from './field-owners.ts';

/** Removes the parts of a live field that go with the release that brought them. Returns the live value itself where none do. */
export type Leave<T = unknown> = (live: T, built: unknown, owners: FieldOwners) => unknown;

/** Keys that servers put into metadata under the name of whoever makes the object. */
const SERVERS_KEYS: ReadonlySet<string> = new Set(['kubernetes.io/metadata.name', 'deprecated.daemonset.template.generation']);

/** Keys that releases alone have written. */
export const leaveKeys: Leave = (live, built, owners) => {
  const [before, next] = [objectAt(live), objectAt(built)];
  const gone = Object.keys(before).filter((key) => !(key in next) && !SERVERS_KEYS.has(key) && owners.at(`f:${key}`).areReleases);
  return gone.length === 0 ? live : Object.fromEntries(Object.entries(before).filter(([key]) => !gone.includes(key)));
};

const leaveMetadata: Leave = (live, built, owners) => withFields(live, built, owners, { labels: leaveKeys, annotations: leaveKeys });

/** Fields that a merge leaves alone and no server fills in. */
export const leaveWhole: Leave = (live, built, owners) =>
  live !== undefined && built === undefined && owners.areReleases ? undefined : live;

/** A list that a server keeps as one field: its entries go where nobody else has written it. */
const leaveEntries: Leave = (live, built, owners) => {
  const next: readonly unknown[] = Array.isArray(built) ? built : [];
  if (!Array.isArray(live) || !owners.areOwn) return live;
  const kept = live.filter((entry: unknown) => next.some((one) => isSame(one, entry)));
  return kept.length === live.length ? live : kept.length === 0 ? undefined : kept;
};

/** The same for a map that a server keeps as one field. */
const leaveAtomicKeys: Leave = (live, built, owners) => {
  const next = objectAt(built);
  const kept = Object.entries(objectAt(live)).filter(([key]) => key in next);
  return !owners.areOwn || kept.length === Object.keys(objectAt(live)).length ? live : Object.fromEntries(kept);
};

const wholes = (...names: string[]): Record<string, Leave> => Object.fromEntries(names.map((name) => [name, leaveWhole]));

const leaveCapabilities: Leave = (live, built, owners) => withFields(live, built, owners, { add: leaveEntries, drop: leaveEntries });

const leaveContainer: Leave = (live, built, owners) =>
  withFields(live, built, owners, {
    ...wholes('lifecycle', 'startupProbe', 'workingDir', 'stdin', 'stdinOnce', 'tty', 'volumeDevices', 'restartPolicy'),
    securityContext: (context, wanted, below) =>
      withFields(context, wanted, below, { ...wholes('runAsGroup', 'seLinuxOptions'), capabilities: leaveCapabilities }),
  });

const leaveContainers: Leave = (live, built, owners) => {
  const next = new Map(objectsAt(built).map((container) => [textAt(container.name), container]));
  const containers = objectsAt(live);
  const left = containers.map((container) => {
    const wanted = next.get(textAt(container.name));
    return wanted ? leaveContainer(container, wanted, owners.at(`k:${JSON.stringify({ name: container.name })}`)) : container;
  });
  return left.every((container, index) => container === containers[index]) ? live : left;
};

const podLists: Readonly<Record<string, Leave>> = { nodeSelector: leaveAtomicKeys, tolerations: leaveEntries };
const podSecurityLists: Readonly<Record<string, Leave>> = { supplementalGroups: leaveEntries, sysctls: leaveEntries };

const leavePodSpec: Leave = (live, built, owners) => {
  // the server keeps the older name of the account beside it
  const account = objectAt(built).serviceAccountName ?? objectAt(built).serviceAccount;
  const leaveAccount: Leave = (name, _, at) => leaveWhole(name, account, at);
  return withFields(live, built, owners, {
    ...wholes('hostPID', 'hostIPC', 'hostAliases', 'runtimeClassName', 'imagePullSecrets', 'topologySpreadConstraints', 'readinessGates'),
    ...wholes('dnsConfig', 'affinity', 'activeDeadlineSeconds', 'priorityClassName'),
    serviceAccountName: leaveAccount,
    serviceAccount: leaveAccount,
    ...podLists,
    securityContext: (context, wanted, below) =>
      withFields(context, wanted, below, { ...wholes('fsGroupChangePolicy'), ...podSecurityLists }),
    containers: leaveContainers,
    initContainers: leaveContainers,
  });
};

const leaveTemplate: Leave = (live, built, owners) => withFields(live, built, owners, { metadata: leaveMetadata, spec: leavePodSpec });

/** Removes leftovers from the spec of a Deployment or a DaemonSet. */
export const leaveWorkloadSpec: Leave = (live, built, owners) => withFields(live, built, owners, { template: leaveTemplate });

/** Removes leftovers from the spec of a CronJob. */
export const leaveCronJobSpec: Leave = (live, built, owners) =>
  withFields(live, built, owners, {
    jobTemplate: (job, wanted, below) => withFields(job, wanted, below, { metadata: leaveMetadata, spec: leaveWorkloadSpec }),
  });

/** An object without what releases before brought and this one has not: never what anybody else has written, or says as well. */
export function withoutLeftovers(
  live: Json,
  built: Json,
  fields: Readonly<Record<string, Leave>> = {},
  owners: FieldOwners = FieldOwners.of(live),
): Json {
  return objectAt(withFields(live, built, owners, { metadata: leaveMetadata, ...fields }));
}

/** The live value itself where none of its fields changes. */
function withFields(live: unknown, built: unknown, owners: FieldOwners, fields: Readonly<Record<string, Leave>>): unknown {
  const [before, next] = [objectAt(live), objectAt(built)];
  const changed = Object.entries(fields).flatMap(([key, leave]) => {
    const left = key in before ? leave(before[key], next[key], owners.at(`f:${key}`)) : undefined;
    return key in before && left !== before[key] ? [[key, left] as const] : [];
  });
  return changed.length === 0 ? live : defined({ ...before, ...Object.fromEntries(changed) });
}

/** True when writing an object changes a list that somebody else has written too. */
export function writesSharedList(live: Json, next: Json): boolean {
  const owners = FieldOwners.of(live);
  const [spec, nextSpec] = [objectAt(live.spec), objectAt(next.spec)];
  const isCron = spec.jobTemplate !== undefined;
  const podOf = (of: Json): Json => objectAt(objectAt(isCron ? objectAt(objectAt(of.jobTemplate).spec).template : of.template).spec);
  const path = ['f:spec', ...(isCron ? ['f:jobTemplate', 'f:spec'] : []), 'f:template', 'f:spec'];
  return isSharedChange(podOf(spec), podOf(nextSpec), owners.at(...path));
}

function isSharedChange(pod: Json, next: Json, owners: FieldOwners): boolean {
  const differs = (before: unknown, after: unknown, at: FieldOwners): boolean => !isSame(before, after) && !at.areNone && !at.areOwn;
  const inLists = (before: unknown, after: unknown, at: FieldOwners, lists: Readonly<Record<string, Leave>>): boolean =>
    Object.keys(lists).some((key) => differs(objectAt(before)[key], objectAt(after)[key], at.at(`f:${key}`)));
  const security = ['f:securityContext'];
  return (
    inLists(pod, next, owners, podLists) ||
    inLists(pod.securityContext, next.securityContext, owners.at(...security), podSecurityLists) ||
    ['containers', 'initContainers'].some((list) =>
      objectsAt(pod[list]).some((container) => {
        const after = objectsAt(next[list]).find(({ name }) => name === container.name);
        const at = owners.at(`f:${list}`, `k:${JSON.stringify({ name: container.name })}`, ...security, 'f:capabilities');
        const of = (one: Json | undefined) => objectAt(one?.securityContext).capabilities;
        return after !== undefined && inLists(of(container), of(after), at, { add: leaveEntries, drop: leaveEntries });
      }),
    )
  );
}
