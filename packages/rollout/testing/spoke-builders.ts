/** Builders of the objects that a rollout may find on hub and spokes. Everything here is for tests. */

import { Annotation, type KubeObject } from '@flotilla/api';
import { ManagedCluster, ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { VIEW_ANNOTATION } from '../src/spoke/subscriptions.ts';
import { actionLabels, upgradeLabels } from '../src/upgrade/identity.ts';

/** The upgrade under test. */
export const UPGRADE = { namespace: 'ns', name: 'upgrade', uid: 'uid-upgrade' };
/** The spoke under test. */
export const SPOKE = 'spoke';
/** When everything here was created, milliseconds since the epoch. */
export const CREATED_AT = Date.parse('2026-01-01T00:00:00Z');

/** The upgrade as stored. */
export const buildClusterGroupUpgrade = (
  parts: { spec?: Record<string, unknown>; status?: Record<string, unknown>; metadata?: Record<string, unknown> } = {},
): ClusterGroupUpgrade =>
  ClusterGroupUpgrade.schema.parse({
    metadata: { ...UPGRADE, ...parts.metadata },
    spec: { remediationStrategy: { maxConcurrency: 1 }, ...parts.spec },
    ...(parts.status && { status: { status: {}, ...parts.status } }),
  });

const condition = (type: string, status: 'True' | 'False', reason: string, message = '') => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: new Date(CREATED_AT + 60_000).toISOString(),
});

/** A ManagedCluster whose agent is alive, unless told otherwise. */
export const buildCluster = (parts: { available?: boolean; metadata?: Record<string, unknown> } = {}): ManagedCluster =>
  ManagedCluster.schema.parse({
    metadata: { name: SPOKE, uid: 'uid-spoke', labels: { name: SPOKE }, ...parts.metadata },
    status: { conditions: [condition('ManagedClusterConditionAvailable', (parts.available ?? true) ? 'True' : 'False', 'Test')] },
  });

/** Answer of an agent: an object, or the text of a refusal. */
export type AgentAnswer = { readonly result: unknown } | { readonly refusal: string } | undefined;

/** A view of the upgrade, pending without an answer. */
export const buildView = (
  name: string,
  scope: { resource: string; name: string; namespace: string },
  answer?: AgentAnswer,
  uid = `uid-${name}`,
): ManagedClusterView =>
  ManagedClusterView.schema.parse({
    metadata: { name, namespace: SPOKE, uid, labels: upgradeLabels(UPGRADE) },
    spec: { scope },
    ...(answer && { status: statusOf(answer) }),
  });

const statusOf = (answer: NonNullable<AgentAnswer>) =>
  'result' in answer
    ? { conditions: [condition('Processing', 'True', 'GetResourceProcessing')], result: answer.result }
    : { conditions: [condition('Processing', 'False', 'GetResourceFailed', `failed to get resource with err: ${answer.refusal}`)] };

/** An approval of the upgrade, made from the answer of the view with uid `view`; executed or failed a minute after its creation. */
export const buildAction = (
  name: string,
  parts: { outcome?: 'executed' | 'failed'; view?: string; retries?: number; uid?: string } = {},
): ManagedClusterAction => {
  const { outcome, view = `uid-${name}`, retries = 0, uid = `uid-action-${name}` } = parts;
  const executed = outcome === 'executed';
  return ManagedClusterAction.schema.parse({
    metadata: {
      name,
      namespace: SPOKE,
      uid,
      labels: actionLabels(UPGRADE),
      annotations: { [VIEW_ANNOTATION]: view, ...(retries > 0 && { [Annotation.retries]: String(retries) }) },
      creationTimestamp: new Date(CREATED_AT).toISOString(),
    },
    ...(outcome && {
      status: { conditions: [condition('Completed', executed ? 'True' : 'False', executed ? 'ActionDone' : 'UpdateResourceFailed')] },
    }),
  });
};

/** A Subscription as a spoke holds it. */
export const subscriptionOnSpoke = (status: unknown, name = 'operator', namespace = 'operators') => ({
  apiVersion: 'operators.coreos.com/v1alpha1',
  kind: 'Subscription',
  metadata: { name, namespace, resourceVersion: '7' },
  spec: { channel: 'stable' },
  status,
});

/** An InstallPlan as a spoke holds it. */
export const planOnSpoke = (spec: Record<string, unknown>, metadata: Record<string, unknown> = {}) => ({
  apiVersion: 'operators.coreos.com/v1alpha1',
  kind: 'InstallPlan',
  metadata: { name: 'install-abcde', namespace: 'operators', resourceVersion: '42', ...metadata },
  spec: { clusterServiceVersionNames: ['operator.v2'], ...spec },
  status: { phase: 'RequiresApproval', plan: [{ resource: { manifest: 'long' } }] },
});

/** A ManifestWork in the spoke's namespace; of the upgrade unless labels say otherwise. */
export const buildWork = (name: string, metadata: Record<string, unknown> = {}): ManifestWork =>
  ManifestWork.schema.parse({ metadata: { name, namespace: SPOKE, uid: `uid-${name}`, labels: upgradeLabels(UPGRADE), ...metadata } });

/** A write as `verb kind name`, with the uid of a deletion. */
export const describeWrite = (
  write:
    | { verb: 'create'; kind: { kind: string }; object: KubeObject }
    | { verb: 'delete'; kind: { kind: string }; ref: { name: string }; uid: string }
    | { verb: 'patch'; kind: { kind: string }; ref: { name: string } },
): string =>
  write.verb === 'create'
    ? `create ${write.kind.kind} ${write.object.metadata.name}`
    : `${write.verb} ${write.kind.kind} ${write.ref.name}${write.verb === 'delete' ? ` ${write.uid}` : ''}`;
