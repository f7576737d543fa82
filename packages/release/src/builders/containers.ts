import { defined, type Json, objectAt, objectsAt, textAt } from '../json-values.ts';
import { mergeByKey, mergeQuantities, textOr } from './merge.ts';
import { mergeContainerSecurity } from './security-context.ts';

/** Containers of a pod by name, in the manifest's order, which init containers run in; those that it does not know go (spec/cvo 3.5, but for the order). */
export const mergeContainers = (live: unknown, wanted: unknown, isOnHost: boolean) =>
  mergeByKey(live, wanted, { key: ({ name }) => textAt(name), merge: (before, next) => mergeContainer(before, next, isOnHost) });

/** Fields that a manifest does not decide stay as they are: pull policy, lifecycle, start-up probe, terminal, devices. */
function mergeContainer(live: Json, wanted: Json, isOnHost: boolean): Json {
  return defined({
    ...live,
    image: wanted.image,
    command: wanted.command,
    args: wanted.args,
    env: withEnvDefaults(wanted.env),
    envFrom: wanted.envFrom,
    workingDir: textOr(wanted.workingDir, live.workingDir),
    resources: mergeResources(live.resources, wanted.resources),
    ports: mergeByKey(live.ports, wanted.ports, {
      key: ({ name }) => textAt(name),
      merge: (before, next) => mergePort(before, next, isOnHost),
    }),
    volumeMounts: mergeByKey(live.volumeMounts, wanted.volumeMounts, { key: ({ mountPath }) => textAt(mountPath), merge: mergeMount }),
    livenessProbe: mergeProbe(live.livenessProbe, wanted.livenessProbe),
    readinessProbe: mergeProbe(live.readinessProbe, wanted.readinessProbe),
    securityContext: mergeContainerSecurity(live.securityContext, wanted.securityContext),
  });
}

/** Variables as a server keeps them: a field reference has a version, a resource a divisor, an empty value is none. */
function withEnvDefaults(env: unknown): readonly Json[] | undefined {
  if (env === undefined || env === null) return undefined;
  return objectsAt(env).map((variable) => {
    const source = objectAt(variable.valueFrom);
    const [field, resource] = [source.fieldRef, source.resourceFieldRef];
    return defined({
      ...variable,
      value: variable.value === '' ? undefined : variable.value,
      ...(field !== undefined && { valueFrom: { ...source, fieldRef: withFieldVersion(field) } }),
      ...(resource !== undefined && { valueFrom: { ...source, resourceFieldRef: { divisor: '0', ...objectAt(resource) } } }),
    });
  });
}

/** A reference to a field with the version that a server writes into it. */
export const withFieldVersion = (field: unknown): Json => ({ apiVersion: 'v1', ...objectAt(field) });

function mergeResources(live: unknown, wanted: unknown): Json {
  const [before, next] = [objectAt(live), objectAt(wanted)];
  return defined({
    ...before,
    limits: mergeQuantities(before.limits, next.limits),
    requests: mergeQuantities(before.requests, next.requests),
  });
}

/** Host ports are the server's to fill in: pods of the host's network have them where it does, and work where it does not. */
function mergePort(live: Json, wanted: Json, isOnHost: boolean): Json {
  const given = isOnHost && live.hostPort === wanted.containerPort ? live.hostPort : undefined;
  return defined({ ...wanted, protocol: wanted.protocol ?? 'TCP', hostPort: wanted.hostPort ?? given });
}

const mergeMount = (live: Json, wanted: Json): Json =>
  defined({
    ...wanted,
    readOnly: wanted.readOnly === false ? undefined : wanted.readOnly,
    recursiveReadOnly: wanted.recursiveReadOnly ?? live.recursiveReadOnly,
  });

const PROBE = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };

function mergeProbe(live: unknown, wanted: unknown): unknown {
  if (live === undefined || wanted === undefined || wanted === null) return wanted ?? undefined;
  const next = objectAt(wanted);
  return defined({
    ...PROBE,
    ...next,
    initialDelaySeconds: next.initialDelaySeconds === 0 ? undefined : next.initialDelaySeconds,
    ...(next.httpGet !== undefined && { httpGet: { scheme: 'HTTP', path: '/', ...objectAt(next.httpGet) } }),
    ...(next.grpc !== undefined && { grpc: { service: '', ...objectAt(next.grpc) } }),
  });
}
