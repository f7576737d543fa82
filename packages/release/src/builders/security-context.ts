import { defined, isEmpty, type Json, objectAt, objectsAt } from '../json-values.ts';

/** The security context of a pod; one that the server has put there empty is none (spec/cvo 3.5). */
export const mergePodSecurity = (live: unknown, wanted: unknown): unknown =>
  mergeSecurity(live, wanted, (before, next) => ({
    seLinuxOptions: next.seLinuxOptions,
    runAsUser: next.runAsUser,
    runAsGroup: next.runAsGroup,
    runAsNonRoot: next.runAsNonRoot,
    fsGroup: next.fsGroup,
    seccompProfile: next.seccompProfile,
    supplementalGroups: mergeTexts(before.supplementalGroups, next.supplementalGroups),
    sysctls: mergeSysctls(before.sysctls, next.sysctls),
  }));

/** The security context of a container: capabilities are only added, what is not named below is left as it is. */
export const mergeContainerSecurity = (live: unknown, wanted: unknown): unknown =>
  mergeSecurity(live, wanted, (before, next) => ({
    capabilities: mergeCapabilities(before.capabilities, next.capabilities),
    seLinuxOptions:
      next.seLinuxOptions === undefined ? before.seLinuxOptions : { ...objectAt(before.seLinuxOptions), ...objectAt(next.seLinuxOptions) },
    privileged: next.privileged,
    runAsUser: next.runAsUser,
    runAsNonRoot: next.runAsNonRoot,
    readOnlyRootFilesystem: next.readOnlyRootFilesystem,
    allowPrivilegeEscalation: next.allowPrivilegeEscalation,
    seccompProfile: next.seccompProfile,
  }));

function mergeSecurity(live: unknown, wanted: unknown, fieldsOf: (before: Json, next: Json) => Json): unknown {
  if (wanted === undefined || wanted === null) return isEmpty(live) ? live : undefined;
  if (live === undefined) return wanted;
  const before = objectAt(live);
  return defined({ ...before, ...fieldsOf(before, objectAt(wanted)) });
}

function mergeCapabilities(live: unknown, wanted: unknown): unknown {
  if (wanted === undefined || wanted === null) return live;
  const [before, next] = [objectAt(live), objectAt(wanted)];
  return defined({ ...before, add: mergeTexts(before.add, next.add), drop: mergeTexts(before.drop, next.drop) });
}

/** The live entries, and those of the manifest that are not among them. */
function mergeTexts(live: unknown, wanted: unknown): unknown {
  const before: readonly unknown[] = Array.isArray(live) ? live : [];
  const missing = (Array.isArray(wanted) ? wanted : []).filter((entry: unknown) => !before.includes(entry));
  return missing.length > 0 ? [...before, ...missing] : live;
}

function mergeSysctls(live: unknown, wanted: unknown): unknown {
  const next = new Map(objectsAt(wanted).map((entry) => [entry.name, entry]));
  if (next.size === 0) return live;
  const kept: Json[] = objectsAt(live).map((entry) => next.get(entry.name) ?? entry);
  return [...kept, ...[...next.values()].filter(({ name }) => !kept.some((entry) => entry.name === name))];
}
