/** Builds objects for tests by the real schemas. */
import { ClusterVersion } from '@flotilla/api/config';
import { Node, Pod, PodDisruptionBudget } from '@flotilla/api/core';
import { Machine, MachineConfigPool, MachineSet } from '@flotilla/api/machine';
import type { UpgradeConfigSpec } from '@flotilla/api/managed';

type Fields = Record<string, unknown>;

/** Builds a cluster that went from 4.14.8 to 4.14.9 and may go to 4.14.12, at a risk to 4.14.13. */
export const buildVersion = (spec: Fields = {}, status: Fields = {}): ClusterVersion =>
  ClusterVersion.schema.parse({
    metadata: { name: 'version' },
    spec: { clusterID: 'x', channel: 'stable-4.14', ...spec },
    status: {
      desired: { version: '4.14.9', image: 'r/9' },
      history: [
        {
          state: 'Completed',
          version: '4.14.9',
          image: 'r/9',
          startedTime: '2026-01-01T00:00:00Z',
          completionTime: '2026-01-01T01:00:00Z',
        },
        {
          state: 'Completed',
          version: '4.14.8',
          image: 'r/8',
          startedTime: '2025-12-01T00:00:00Z',
          completionTime: '2025-12-01T01:00:00Z',
        },
      ],
      availableUpdates: [{ version: '4.14.12', image: 'r/12' }],
      conditionalUpdates: [{ release: { version: '4.14.13', image: 'r/13' }, risks: [{ name: 'Fire', message: 'm', url: 'https://u' }] }],
      ...status,
    },
  });

/** Builds an UpgradeConfig that asks for 4.14.12. */
export const buildSpec = (changes: Partial<UpgradeConfigSpec> = {}): UpgradeConfigSpec => ({
  type: 'OSD',
  upgradeAt: '2026-02-01T10:00:00Z',
  PDBForceDrainTimeout: 60,
  desired: { version: '4.14.12', channel: 'stable-4.14' },
  ...changes,
});

/** Builds a machine config pool. */
export const buildPool = (name: string, spec: Fields, status: Fields): MachineConfigPool =>
  MachineConfigPool.schema.parse({ metadata: { name }, spec, status });

/** Builds a MachineSet of three, created when the upgrade is due. */
export const buildSet = (name: string, labels: Record<string, string>, rest: Fields = {}, metadata: Fields = {}): MachineSet =>
  MachineSet.schema.parse({
    metadata: { name, labels, creationTimestamp: '2026-02-01T10:00:00Z', ...metadata },
    spec: { replicas: 3 },
    ...rest,
  });

/** Builds a Machine in this state. */
export const buildMachine = (name: string, labels: Record<string, string>, status: Fields): Machine =>
  Machine.schema.parse({ metadata: { name, labels }, status });

/** Builds a healthy node, except for the given parts. */
export const buildNode = (name: string, parts: { labels?: Record<string, string>; spec?: Fields; status?: Fields } = {}): Node =>
  Node.schema.parse({ metadata: { name, labels: parts.labels }, spec: parts.spec ?? {}, status: parts.status ?? {} });

/** Builds a pod on node n, in the namespace of the budgets. */
export const buildPod = (name: string, metadata: Fields = {}): Pod =>
  Pod.schema.parse({ metadata: { name, namespace: 'shop', uid: name, ...metadata }, spec: { nodeName: 'n' } });

/** Builds a budget that blocks every pod it selects. */
export const buildBudget = (selector: Fields | null | undefined, namespace = 'shop'): PodDisruptionBudget =>
  PodDisruptionBudget.schema.parse({ metadata: { name: 'budget', namespace }, spec: { selector, maxUnavailable: 0 } });
