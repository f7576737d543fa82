import { isJsonObject, perObject } from '@flotilla/api';
import { namesOf, quoted } from '../errors.ts';
import { knownCapabilities, releaseCapabilities } from '../inclusion/capabilities.ts';
import { featureSets, InclusionAnnotation, majorVersionRefusal } from '../inclusion/inclusion.ts';
import { namesAt, objectAt, objectsAt } from '../json-values.ts';
import type { Manifest } from '../payload/manifest.ts';
import { type Finding, findingAt, type LintSource } from './source.ts';

type Annotations = Readonly<Record<string, string>>;
type AnnotationCheck = (annotations: Annotations, manifest: Manifest, source: LintSource) => Iterable<[key: string, why: string]>;

const RELEASE = 'release.openshift.io/';
const INCLUDE = InclusionAnnotation.include('');
const EXCLUDE = InclusionAnnotation.exclude('');
const { featureSet, featureGate, majorVersion, capability } = InclusionAnnotation;
const DELETE = `${RELEASE}delete`;
const CREATE_ONLY = `${RELEASE}create-only`;
const known: ReadonlySet<string> = new Set([
  featureSet,
  featureGate,
  majorVersion,
  DELETE,
  CREATE_ONLY,
  `${RELEASE}verification-config-map`,
  `${RELEASE}bootstrap-required`,
]);

/** Values that mean nothing: the operator leaves such a manifest out, or fails on it. */
const checks: readonly AnnotationCheck[] = [
  function* flags(annotations) {
    for (const key of [DELETE, 'config.openshift.io/inject-tls']) {
      const value = annotations[key];
      if (value !== undefined && value !== 'true') yield [key, `has the value ${quoted(value)}; write "true", or take it away`];
    }
    const createOnly = annotations[CREATE_ONLY];
    if (createOnly !== undefined && !/^(?:true|false)$/i.test(createOnly))
      yield [CREATE_ONLY, `has the value ${quoted(createOnly)}; write "true" or "false"`];
  },
  function* featureSetNames(annotations) {
    const unknown = (annotations[featureSet]?.split(',') ?? []).filter((name) => !featureSets.some((one) => one === name));
    if (unknown.length > 0)
      yield [featureSet, `names ${namesOf(unknown.map(quoted))}; there are ${featureSets.join(', ')}, without blanks`];
    if (annotations[featureSet] !== undefined && annotations[featureGate] !== undefined)
      yield [featureGate, `stands beside ${featureSet}: no cluster takes the manifest; keep one of them`];
  },
  function* majorVersions(annotations, manifest) {
    const value = annotations[majorVersion];
    // a major that no list names: only what is wrong with the list itself is left
    const refusal = value === undefined ? undefined : majorVersionRefusal(manifest, majorVersion, value, Number.NaN);
    if (refusal !== undefined && !refusal.startsWith('major version NaN')) yield [majorVersion, refusal];
  },
  function* capabilities(annotations, _, source) {
    const names = annotations[capability]?.split('+') ?? [];
    const all = capabilitiesOf(source);
    const unknown = names.filter((name) => !all.includes(name));
    if (unknown.length > 0) yield [capability, `names ${namesOf(unknown.map(quoted))}; there are ${all.join(', ')}, joined by +`];
  },
  function* injectedContainers(annotations, manifest) {
    const key = 'config.openshift.io/inject-proxy';
    const names = annotations[key]?.split(',') ?? [];
    const containers = containersOf(manifest.object);
    const unknown = names.filter((name) => !containers.has(name));
    if (unknown.length > 0) yield [key, `names ${namesOf(unknown.map(quoted))}; the containers are ${namesOf(containers)}`];
  },
];

/** Likely no intention, but harmless. */
const hints: readonly AnnotationCheck[] = [
  function* unknownKeys(annotations) {
    for (const key of Object.keys(annotations))
      if (key.startsWith(RELEASE) && !known.has(key)) yield [key, 'is not known; a typing mistake?'];
  },
  function* audiences(annotations) {
    for (const [key, value] of Object.entries(annotations))
      if ((key.startsWith(INCLUDE) || key.startsWith(EXCLUDE)) && value !== 'true')
        yield [key, `has the value ${quoted(value)}, which is as if it were not there; write "true", or take it away`];
  },
  function* profiles(annotations, _, source) {
    const all = profilesOf(source);
    for (const key of Object.keys(annotations)) {
      const [name, uses] = [key.slice(INCLUDE.length), all.get(key.slice(INCLUDE.length)) ?? 0];
      if (!key.startsWith(INCLUDE)) continue;
      const meant = [...all].find(([other, times]) => times > uses && isAlmost(name, other));
      if (meant) yield [key, `is on few manifests (${uses}), where ${meant[1]} are for ${quoted(meant[0])}; a typing mistake?`];
    }
  },
  function* prefixes(annotations) {
    for (const key of Object.keys(annotations))
      if (/^[^/]*\.release\.openshift\.io\//.test(key) && !key.startsWith(INCLUDE) && !key.startsWith(EXCLUDE))
        yield [key, `is not known; ${INCLUDE}<profile> and ${EXCLUDE}<name> are`];
  },
  function* neverIncluded(annotations) {
    if (!Object.keys(annotations).some((key) => key.startsWith(INCLUDE)))
      yield ['annotations', `have no ${INCLUDE}<profile>: no cluster takes the manifest`];
  },
  function* unknownGates(annotations, _, source) {
    const gates = gatesOf(source);
    const unknown = (annotations[featureGate]?.split(',') ?? [])
      .map((gate) => gate.trim().replace(/^-/, ''))
      .filter((gate) => !gates.has(gate));
    if (gates.size > 0 && unknown.length > 0)
      yield [featureGate, `names ${namesOf(unknown.map(quoted))}, which no FeatureGate of the payload lists`];
  },
];

/** Annotations that decide about manifests. */
export function* checkAnnotations(source: LintSource): Generator<Finding> {
  for (const manifest of source.manifests) {
    const { annotations } = manifest;
    if (!annotations) {
      yield unreadable(source, manifest);
      continue;
    }
    for (const [level, list] of [['error', checks] as const, ['warning', hints] as const])
      for (const check of list)
        for (const [key, why] of check(annotations, manifest, source))
          yield findingAt(source, manifest, { level, rule: 'annotation', message: `${key} ${why}`, near: [key, 'annotations'] });
  }
}

function unreadable(source: LintSource, manifest: Manifest): Finding {
  const given = objectAt(manifest.object.metadata).annotations;
  if (!isJsonObject(given))
    return findingAt(source, manifest, {
      level: 'warning',
      rule: 'annotation',
      message: 'has no annotations: no cluster takes it',
      near: ['metadata'],
    });
  const wrong = Object.entries(given).flatMap(([key, value]) => (typeof value === 'string' ? [] : [key]));
  return findingAt(source, manifest, {
    rule: 'annotation',
    message: `${namesOf(wrong)} has a value that is no text: no cluster takes the manifest; write it in quotes`,
    near: [wrong[0] ?? 'annotations', 'annotations'],
  });
}

const capabilitiesOf = perObject(
  ({ manifests }: LintSource): readonly string[] =>
    releaseCapabilities(manifests) ?? knownCapabilities(new Set(['CRDCompatibilityRequirementOperator', 'ClusterAPIMachineManagement'])),
);

/** Profiles that manifests are for, and how many are. */
const profilesOf = perObject(({ manifests }: LintSource): ReadonlyMap<string, number> => {
  const names = manifests.flatMap(({ annotations }) =>
    Object.keys(annotations ?? {}).flatMap((key) => (key.startsWith(INCLUDE) ? [key.slice(INCLUDE.length)] : [])),
  );
  return new Map([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]));
});

/** True for names of which one becomes the other by one letter more, less, other, or in another place. */
function isAlmost(one: string, other: string): boolean {
  if (one === other || Math.abs(one.length - other.length) > 1) return false;
  let start = 0;
  while (start < one.length && one[start] === other[start]) start++;
  const [a, b] = [one.slice(start), other.slice(start)];
  if (a.length !== b.length) return a.slice(1) === b || a === b.slice(1);
  return a.slice(1) === b.slice(1) || (a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2));
}

/** Feature gates that the payload's own FeatureGates list, on or off. */
const gatesOf = perObject(({ manifests }: LintSource): ReadonlySet<string> => {
  const lists = manifests
    .filter(({ group, kind }) => group === 'config.openshift.io' && kind === 'FeatureGate')
    .flatMap(({ object: { status } }) => objectsAt(objectAt(status).featureGates));
  return new Set(lists.flatMap(({ enabled, disabled }) => [...namesAt(enabled), ...namesAt(disabled)]));
});

function containersOf({ spec }: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  const pod = objectAt(objectAt(objectAt(spec).template).spec);
  return new Set([...namesAt(pod.initContainers), ...namesAt(pod.containers)]);
}
