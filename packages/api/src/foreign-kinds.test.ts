import { describe, expect, test } from 'vitest';
import { nulledFields } from '../testing/nulls.ts';
import * as config from './config/index.ts';
import * as core from './core/index.ts';
import type { Resource } from './kubernetes.ts';
import * as machine from './machine/index.ts';
import * as managed from './managed/index.ts';
import * as ocm from './ocm/index.ts';
import * as ran from './ran/index.ts';

const isResource = (value: unknown): value is Resource =>
  typeof value === 'object' && value !== null && 'plural' in value && 'schema' in value;
const resources = [config, core, machine, managed, ocm, ran].flatMap((group) => Object.values<unknown>(group)).filter(isResource);

const condition = {
  type: 'T',
  status: 'True',
  reason: 'R',
  message: 'm',
  lastTransitionTime: '2026-01-01T00:00:00Z',
  observedGeneration: 1,
};
const identity = { group: 'apps', resource: 'deployments', name: 'd', namespace: 'n' };
/** Content by kind; other kinds are tried with an empty spec and status. */
const content: Readonly<Record<string, object>> = {
  Policy: {
    spec: { disabled: false, remediationAction: 'inform', dependencies: [], 'policy-templates': [{ objectDefinition: {} }] },
    status: { compliant: 'Compliant', status: [{ clustername: 'c', clusternamespace: 'c', compliant: 'Compliant' }] },
  },
  ManifestWork: {
    spec: {
      workload: { manifests: [{}] },
      deleteOption: { propagationPolicy: 'Orphan', selectivelyOrphans: { orphaningRules: [identity] }, ttlSecondsAfterFinished: 1 },
      manifestConfigs: [
        {
          resourceIdentifier: identity,
          feedbackRules: [{ type: 'JSONPaths', jsonPaths: [{ name: 'a', path: '.b', version: 'v1' }] }],
          updateStrategy: { type: 'Update', serverSideApply: { force: true, fieldManager: 'f' } },
          feedbackScrapeType: 'Poll',
        },
      ],
    },
    status: {
      conditions: [condition],
      resourceStatus: {
        manifests: [
          {
            resourceMeta: { ordinal: 0, version: 'v1', kind: 'Deployment', ...identity },
            conditions: [condition],
            statusFeedback: { values: [{ name: 'a', fieldValue: { type: 'String', string: 's' } }] },
          },
        ],
      },
    },
  },
  ManagedCluster: { spec: { hubAcceptsClient: true }, status: { conditions: [condition], clusterClaims: [{ name: 'a', value: 'b' }] } },
  ManagedClusterView: {
    spec: { scope: { kind: 'Job', resource: 'jobs', name: 'j', namespace: 'n' } },
    status: { conditions: [condition], result: { a: null } },
  },
  Placement: { spec: { clusterSets: ['s'], predicates: [{ requiredClusterSelector: { labelSelector: { matchLabels: { a: 'b' } } } }] } },
  ClusterOperator: {
    status: {
      conditions: [condition],
      versions: [{ name: 'operator', version: '1' }],
      relatedObjects: [{ group: 'g', resource: 'r', name: 'n' }],
    },
  },
  ClusterVersion: {
    spec: { clusterID: 'x', channel: 'c', desiredUpdate: { version: '4.20.1', image: 'i', force: false } },
    status: {
      desired: { version: '4.20.1', image: 'i' },
      history: [{ state: 'Completed', version: '4', image: 'i', startedTime: 't', completionTime: 't' }],
      conditions: [condition],
      capabilities: { enabledCapabilities: ['a'], knownCapabilities: ['a', 'b'] },
      availableUpdates: [{ version: '4.20.2', image: 'i', url: 'u', channels: ['c'] }],
      conditionalUpdates: [
        {
          release: { version: '4.20.3', image: 'i' },
          risks: [{ url: 'u', name: 'n', message: 'm', matchingRules: [{ type: 'PromQL', promql: { promql: 'p' } }] }],
          conditions: [condition],
        },
      ],
    },
  },
  Node: {
    spec: { unschedulable: true, taints: [{ key: 'k', effect: 'NoSchedule', value: 'v', timeAdded: 't' }] },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  },
  Pod: { metadata: { name: 'a', namespace: 'n', ownerReferences: [{ kind: 'DaemonSet', name: 'd' }] }, spec: { nodeName: 'n' } },
  PodDisruptionBudget: {
    spec: { selector: { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'k', operator: 'In', values: ['v'] }] }, minAvailable: 1 },
  },
  ConfigMap: { data: { a: 'b' } },
  Secret: { data: { a: 'b' }, type: 'Opaque' },
  Lease: { spec: { holderIdentity: 'h', leaseDurationSeconds: 1, acquireTime: 't', renewTime: 't', leaseTransitions: 1 } },
  Event: {
    eventTime: 't',
    type: 'Normal',
    reason: 'r',
    note: 'n',
    regarding: { kind: 'Pod', name: 'p', uid: 'u' },
    related: { kind: 'Node' },
  },
};

describe.each(resources.map((kind) => [kind.kind, kind] as const))('%s', (name, { apiVersion, kind, schema }) => {
  const metadata = { name: 'a', namespace: 'n', uid: 'u', generation: 1, labels: { a: 'b' }, annotations: { a: 'b' }, finalizers: ['f'] };
  const sample = { apiVersion, kind, metadata, spec: {}, status: {}, ...content[name] };
  const outcome = (document: unknown): string => {
    const { data, error } = schema.safeParse(document);
    return JSON.stringify(data ?? error?.issues, (_, value: unknown) => (value === null ? undefined : value));
  };

  test('has null for absent in every field', () => {
    const different = nulledFields(sample).filter(({ absent, nulled }) => outcome(nulled) !== outcome(absent));
    expect(different.map(({ path, nulled, absent }) => [path, outcome(nulled), outcome(absent)])).toEqual([]);
  });
});

test('every kind is tried', () => expect(resources.length).toBeGreaterThan(25));
