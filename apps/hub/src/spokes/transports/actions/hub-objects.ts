/** Builds a job's actions and views in a spoke's namespace on the hub (spec/talm 3.5, 5.1). Pure. */

import { createHash } from 'node:crypto';
import { Annotation, type KubeObject, Label } from '@flotilla/api';
import { ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import { workLabels } from '@flotilla/rollout';
import type { NamedJob, ObjectPlace, SpokeManifest, ViewDefinition } from '../port/port.ts';

/** Annotations that save a later step from reading templates. */
export const ActionAnnotation = {
  /** Digest of the template; another digest shows a changed spec. */
  template: 'flotilla.io/template',
  retries: Annotation.retries,
  /** Retries that count against the budget: refusals by the spoke and vanished jobs. Other failures may pass. */
  refusals: 'flotilla.io/refusals',
  /** On deletions: `before` or `after` the workload. */
  deletes: 'flotilla.io/deletes',
  /** On the view of the namespace: reason for which no work reaches the spoke. */
  fallback: 'flotilla.io/work-refused',
  /** On the view of a leftover: owed deletions, separated by commas. */
  owed: 'flotilla.io/owed-deletions',
} as const;

/** `before`: removes an earlier attempt's objects; `after`: removes this attempt's. */
export type DeletionTime = 'before' | 'after';

/** Selects everything that a kind of job created on the hub for this upgrade. */
export const upgradeSelector = (work: string, uid: string): string => `${Label.work}=${work},${Label.upgradeUid}=${uid}`;

/** Computes the first 16 hex digits of a template's SHA-256. */
export const templateDigest = (template: unknown): string =>
  createHash('sha256').update(JSON.stringify(template)).digest('hex').slice(0, 16);

const digestOf = ({ digest }: ObjectPlace): Record<string, string> => (digest === undefined ? {} : { [Annotation.specDigest]: digest });

/** Earlier tries of an action. */
export interface Tries {
  readonly retries: number;
  readonly refusals: number;
}

const triesOf = (tries: Tries | undefined): Record<string, string> =>
  tries
    ? {
        [ActionAnnotation.retries]: String(tries.retries),
        ...(tries.refusals > 0 && { [ActionAnnotation.refusals]: String(tries.refusals) }),
      }
    : {};

/** Builds the action that creates one object on the spoke. */
export function createAction(place: ObjectPlace, manifest: SpokeManifest, tries?: Tries): KubeObject {
  const { job, upgrade, cluster } = place;
  return {
    apiVersion: ManagedClusterAction.apiVersion,
    kind: ManagedClusterAction.kind,
    metadata: {
      name: manifest.action,
      namespace: cluster,
      labels: workLabels(upgrade, job.work),
      annotations: {
        [ActionAnnotation.template]: templateDigest(manifest.template),
        ...manifest.marks,
        ...digestOf(place),
        ...triesOf(tries),
      },
    },
    spec: {
      actionType: 'Create',
      kube: {
        resource: manifest.template.kind.toLowerCase(),
        ...(manifest.action === job.names.actions.createJob && { namespace: job.names.namespace }),
        template: manifest.template,
      },
    },
  };
}

/**
 * Builds the action that deletes the job's namespace or ClusterRoleBinding from the spoke. A deletion without a waiter is labelled as leftover, so
 * that it blocks no other upgrade.
 */
export function deleteAction(
  place: ObjectPlace,
  name: string,
  { when, tries }: { readonly when: DeletionTime; readonly tries?: Tries },
): KubeObject {
  const { job, upgrade, cluster } = place;
  const kube =
    name === job.names.actions.deleteClusterRoleBinding
      ? { resource: 'clusterrolebinding', name: job.names.clusterRoleBinding }
      : { resource: 'namespace', name: job.names.namespace };
  return {
    apiVersion: ManagedClusterAction.apiVersion,
    kind: ManagedClusterAction.kind,
    metadata: {
      name,
      namespace: cluster,
      labels: { ...workLabels(upgrade, job.work), ...(job.cleansFirst && when === 'after' && { [Label.leftover]: 'true' }) },
      annotations: { [ActionAnnotation.deletes]: when, ...digestOf(place), ...triesOf(tries) },
    },
    spec: { actionType: 'Delete', kube },
  };
}

/** Builds a view, polled by the spoke's agent every `intervalSeconds` (0: the agent's default of 30). */
export function createView(place: ObjectPlace, view: ViewDefinition, intervalSeconds: number): KubeObject {
  const { job, upgrade, cluster } = place;
  const { kind: _, ...target } = view.target;
  const annotations = digestOf(place);
  return {
    apiVersion: ManagedClusterView.apiVersion,
    kind: ManagedClusterView.kind,
    metadata: {
      name: view.name,
      namespace: cluster,
      labels: workLabels(upgrade, job.work),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    spec: { scope: { resource: view.resource, ...target, ...(intervalSeconds > 0 && { updateIntervalSeconds: intervalSeconds }) } },
  };
}

/** True for the view that marks the leftovers of an upgrade on a spoke. */
export const isLeftover = ({ metadata }: KubeObject): boolean => metadata.labels?.[Label.leftover] === 'true';

/**
 * Builds the view that outlives its upgrade. It watches the job's namespace, which shows whether the spoke is back and has objects of the job.
 * @param deletions names of the actions that are owed
 */
export function createLeftover(place: ObjectPlace, deletions: readonly string[]): KubeObject {
  const { namespace } = place.job.names.views;
  const view = createView(place, { ...namespace, name: `${namespace.name}-leftover` }, 0);
  const { labels, annotations } = view.metadata;
  return {
    ...view,
    metadata: {
      ...view.metadata,
      labels: { ...labels, [Label.leftover]: 'true' },
      annotations: { ...annotations, [ActionAnnotation.owed]: deletions.join(',') },
    },
  };
}

/** Reads the deletions that a leftover's view owes. */
export function owedDeletions({ names }: Pick<NamedJob, 'names'>, { metadata }: KubeObject): string[] {
  const owed = metadata.annotations?.[ActionAnnotation.owed]?.split(',') ?? [];
  const { deleteNamespace, deleteClusterRoleBinding } = names.actions;
  return [deleteNamespace, deleteClusterRoleBinding].filter((name) => owed.includes(name));
}
