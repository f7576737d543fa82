import { Annotation } from '@flotilla/api';
import { ManifestWorkReplicaSet } from '@flotilla/api/ocm';
import { expect, test } from 'vitest';
import { buildPolicy, clusterVersion } from '../../testing/policy-builders.ts';
import type { ManagedPolicy, PolicyExamination } from '../policies/policies.ts';
import { objectDefinitions } from '../policies/policy-structure.ts';
import { findUnresolvableDependency, type ValidationInput, validateUpgrade } from './validation.ts';

const nothing: PolicyExamination = {
  forUpgrade: [],
  compliantBefore: [],
  enforced: [],
  missing: [],
  invalid: [],
  unread: [],
  ambiguous: {},
  namespaces: {},
};
function managed(name: string, options: Parameters<typeof buildPolicy>[1]): ManagedPolicy {
  const policy = buildPolicy(name, options);
  return {
    name,
    namespace: 'policies',
    policy,
    objects: objectDefinitions(policy).objects ?? [],
    look: () => ({ standing: 'pending', compliance: 'NonCompliant', meant: undefined }),
  };
}
const withPolicies = (examination: Partial<PolicyExamination>): ValidationInput => ({
  mode: 'policy',
  examination: { ...nothing, ...examination },
  preCaching: false,
  talmStrict: false,
  lookUpRelease: ({ version }) => {
    if (version === '4.20.1') return { kind: 'known', image: 'q/r@sha256:1' };
    const message = `unable to find version ${version} on update graph on url http://g`;
    return { kind: 'failed', code: 'FLOTILLA_UPDATE_GRAPH_NO_VERSION', message };
  },
});
const release = (version: string) =>
  managed('a', { objects: [clusterVersion({ upstream: 'http://g', channel: 'c', desiredUpdate: { version } })] });
const dependent = managed('a', { spec: { dependencies: [{ name: 'b' }] } });
const templates = (exist: string[], annotations: Record<string, string> = {}): ValidationInput => ({
  mode: 'manifestWork',
  templates: ['a', 'b', 'c'],
  template: (name) =>
    exist.includes(name)
      ? ManifestWorkReplicaSet.schema.parse({
          metadata: { name, namespace: 'default', annotations },
          spec: { manifestWorkTemplate: { workload: { manifests: [{ kind: 'ConfigMap' }] } } },
        })
      : undefined,
});

test('refuses a template that could never complete, naming annotation, value and fix', () => {
  const validation = validateUpgrade(templates(['a', 'b', 'c'], { [Annotation.expectedValues]: 'ready' }));
  const message = expect.stringMatching(/ManifestWorkReplicaSet default\/a: .*"ready".*expected a JSON list/);
  expect(validation).toMatchObject({ status: 'False', reason: 'InvalidManifestTemplate', message });
});

test.each<{ name: string; input: ValidationInput; reason: string; message: string; more?: object }>([
  { name: 'completes without policies', input: withPolicies({}), reason: 'ValidationCompleted', message: 'Completed validation' },
  {
    name: 'completes when the release is on the graph',
    input: withPolicies({ forUpgrade: [release('4.20.1')] }),
    reason: 'ValidationCompleted',
    message: 'Completed validation',
  },
  {
    name: 'lists missing policies as Go does',
    input: withPolicies({ missing: [{ name: 'a' }, { name: 'b' }] }),
    reason: 'NotAllManagedPoliciesExist',
    message: 'Missing managed policies: [a b] ',
  },
  {
    name: 'reports invalid policies rather than missing ones, and why each is',
    input: withPolicies({
      missing: [{ name: 'x' }],
      invalid: [
        { name: 'a', reason: 'spec is odd' },
        { name: 'b', reason: 'too deep' },
      ],
    }),
    reason: 'NotAllManagedPoliciesExist',
    message: 'Invalid managed policies: [a b]; a: spec is odd; b: too deep',
  },
  {
    name: 'reports ambiguous policies before everything else, sorted',
    input: withPolicies({ missing: [{ name: 'x' }], ambiguous: { q: ['ns2', 'ns1'], p: ['ns1', 'ns3'] } }),
    reason: 'AmbiguousManagedPoliciesNames',
    message: 'Managed policy name should be unique, but was found in multiple namespaces: {"p":["ns1","ns3"],"q":["ns1","ns2"]} ',
  },
  {
    name: 'says what is wrong with a ClusterVersion',
    input: withPolicies({ forUpgrade: [managed('a', { objects: [clusterVersion({ channel: 'c' })] })] }),
    reason: 'InvalidPlatformImage',
    message: 'policy with ClusterVersion must have upstream, channel, and version when image is not provided',
  },
  {
    name: 'says that the release is not on the graph, and looks again later',
    input: withPolicies({ forUpgrade: [release('4.20.9')] }),
    reason: 'InvalidPlatformImage',
    message: 'unable to find version 4.20.9 on update graph on url http://g',
    more: { recheckAfterMs: 300_000 },
  },
  {
    name: 'refuses a policy before its dependency',
    input: withPolicies({ forUpgrade: [dependent, managed('b', {})] }),
    reason: 'UnresolvableDenpendency',
    message: 'Managed Policy a depends on b, which is to be remediated later',
  },
  {
    name: 'completes when all templates exist',
    input: templates(['a', 'b', 'c']),
    reason: 'ValidationCompleted',
    message: 'Completed validation',
  },
  {
    name: 'lists missing templates',
    input: templates(['b']),
    reason: 'NotAllManifestTemplatesExist',
    message: 'Missing manifest templates: [a c]',
  },
])('$name', ({ input, reason, message, more }) => {
  const status = reason === 'ValidationCompleted' ? 'True' : 'False';
  expect(validateUpgrade(input)).toEqual({ status, reason, message, ...more });
});

test('is neither true nor false while the release is looked up', () => {
  const input = { ...withPolicies({ forUpgrade: [release('4.20.1')] }), lookUpRelease: () => ({ kind: 'pending' }) as const };
  expect(validateUpgrade(input)).toBe('pending');
});

test('says no more of invalid policies than the reference when strict', () => {
  const invalid = [{ name: 'a', reason: 'spec is odd' }];
  const validation = validateUpgrade({ ...withPolicies({ invalid }), talmStrict: true } as ValidationInput);
  expect(validation).toMatchObject({ message: 'Invalid managed policies: [a] ' });
});

const policy = (name: string, dependencies?: unknown[]) => ({
  name,
  namespace: 'policies',
  policy: buildPolicy(name, { spec: { dependencies } }),
});
const on = (name: string, more: Record<string, unknown> = { namespace: 'policies' }) => [{ kind: 'Policy', name, ...more }];

test.each([
  { name: 'accepts a dependency that comes earlier', order: [policy('a'), policy('b', on('a'))], want: undefined },
  { name: 'accepts a dependency that is none of the upgrade', order: [policy('a', on('z')), policy('b')], want: undefined },
  { name: 'refuses a dependency that comes later', order: [policy('a', on('b')), policy('b')], want: { policy: 'a', dependency: 'b' } },
  {
    name: 'takes a dependency without a namespace as one of its own',
    order: [policy('a', on('b', {})), policy('b')],
    want: { policy: 'a', dependency: 'b' },
  },
  {
    name: 'accepts a later policy of the same name elsewhere',
    order: [policy('a', on('b', { namespace: 'other' })), policy('b')],
    want: undefined,
  },
  {
    name: 'ignores dependencies on other kinds',
    order: [policy('a', on('b', { kind: 'ConfigurationPolicy' })), policy('b')],
    want: undefined,
  },
  { name: 'survives dependencies that are none', order: [policy('a', [null, 7, {}, { name: [] }]), policy('b')], want: undefined },
])('$name', ({ order, want }) => expect(findUnresolvableDependency(order)).toEqual(want));
