import { expect, test } from 'vitest';
import { buildClusterGroupUpgrade } from '../../testing/spoke-builders.ts';
import { targetOf, targetsOf } from './targets.ts';

const BEFORE = { addClusterLabels: { begun: '' } };
const AFTER = { addClusterLabels: { done: '' } };
const condition = (type: string, status: string) => ({
  type,
  status,
  reason: 'r',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const subscription = { kind: 'Subscription', name: 's', apiVersion: 'operators.coreos.com/v1alpha1', namespace: 'o' };

interface Given {
  readonly progressing?: 'True' | 'False';
  readonly succeeded?: boolean;
  readonly deleted?: boolean;
  readonly templates?: string[];
  /** Templates that the spec names by now. */
  readonly edited?: string[];
  readonly batch?: number;
  readonly progress?: Record<string, object>;
  readonly clusters?: object[];
  readonly deleteObjects?: boolean;
  readonly content?: string;
}

const build = (given: Given) =>
  buildClusterGroupUpgrade({
    metadata: given.deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {},
    spec: {
      actions: { beforeEnable: BEFORE, afterCompletion: { ...AFTER, deleteObjects: given.deleteObjects } },
      manifestWorkTemplates: given.edited ?? given.templates,
    },
    status: {
      conditions: [condition('Progressing', given.progressing ?? 'True'), ...(given.succeeded ? [condition('Succeeded', 'True')] : [])],
      remediationPlan: [['a'], ['b']],
      ...(given.templates
        ? { manifestWorkTemplates: given.templates }
        : {
            managedPoliciesForUpgrade: [
              { name: 'p0', namespace: 'n' },
              { name: 'p1', namespace: 'n' },
            ],
          }),
      managedPoliciesContent: { p1: given.content ?? JSON.stringify([subscription]) },
      clusters: given.clusters,
      status: { currentBatch: given.batch, currentBatchRemediationProgress: given.progress },
    },
  });

const CLEAN = { phase: 'cleanup', keepWorks: false };
const DONE = { state: 'Completed' };
const inPolicy = (policy: string, subscriptions: object[] = []) => ({ phase: 'remediate', mode: 'policy', policy, subscriptions });

test.each<{ name: string; given: Given; want: Record<string, object> }>([
  { name: 'before the start nothing', given: { progressing: 'False' }, want: { a: CLEAN, b: CLEAN } },
  {
    name: 'before the first batch all clusters are prepared, and those that comply get their last edits',
    given: { progress: { x: DONE } },
    want: {
      a: { phase: 'prepare', edits: BEFORE, nameLabel: true },
      b: { phase: 'prepare', edits: BEFORE, nameLabel: true },
      x: { phase: 'complete', edits: AFTER },
    },
  },
  {
    name: 'Placements have no part in ManifestWorks, nor has their label',
    given: { templates: ['t'] },
    want: { a: { phase: 'prepare', edits: BEFORE, nameLabel: false } },
  },
  {
    name: 'in a batch each cluster is at its policy, with the Subscriptions of that',
    given: { batch: 1, progress: { a: { state: 'InProgress', policyIndex: 0 }, c: { state: 'InProgress', policyIndex: 1 } } },
    want: { a: inPolicy('p0'), b: CLEAN, c: inPolicy('p1', [subscription]) },
  },
  {
    name: 'a list of Subscriptions that somebody spoilt counts as none',
    given: { batch: 1, progress: { a: { state: 'InProgress', policyIndex: 1 } }, content: '{' },
    want: { a: inPolicy('p1') },
  },
  {
    name: 'or at its template',
    given: { templates: ['t0', 't1'], batch: 1, progress: { a: { state: 'InProgress', manifestWorkIndex: 1 } } },
    want: { a: { phase: 'remediate', mode: 'manifestWork', template: 't1' } },
  },
  {
    name: 'templates that were added to the spec meanwhile change nothing',
    given: { edited: ['t9'], batch: 1, progress: { a: { state: 'InProgress', policyIndex: 0 } } },
    want: { a: inPolicy('p0') },
  },
  {
    name: 'nor do those that were taken out',
    given: { templates: ['t0'], edited: [], batch: 1, progress: { a: { state: 'InProgress', manifestWorkIndex: 0 } } },
    want: { a: { phase: 'remediate', mode: 'manifestWork', template: 't0' } },
  },
  {
    name: 'a cluster that is done gets its last edits until it is recorded',
    given: { batch: 1, progress: { a: DONE, c: DONE }, clusters: [{ name: 'c', state: 'complete' }] },
    want: { a: { phase: 'complete', edits: AFTER }, c: { phase: 'complete', edits: undefined } },
  },
  {
    name: 'a cluster that is lost is cleaned',
    given: { batch: 1, progress: { a: { state: 'InProgress' } }, clusters: [{ name: 'a', state: 'failed' }] },
    want: { a: CLEAN },
  },
  { name: 'after the verdict all are cleaned', given: { succeeded: true, batch: 1, progress: { a: DONE } }, want: { a: CLEAN } },
  {
    name: 'but for the works that the user keeps',
    given: { succeeded: true, deleteObjects: false, batch: 1, progress: { a: DONE } },
    want: { a: { phase: 'cleanup', keepWorks: true } },
  },
  {
    name: 'until the upgrade is deleted',
    given: { deleted: true, deleteObjects: false, batch: 1, progress: { a: { state: 'InProgress' } } },
    want: { a: CLEAN },
  },
])('$name', ({ given, want }) => {
  const upgrade = build(given);
  const found = Object.fromEntries(Object.keys(want).map((cluster) => [cluster, plain(targetOf(upgrade, cluster))]));
  expect(found).toEqual(want);
});

/** `deleteObjects` is no edit. */
function plain(target: object) {
  if (!('edits' in target) || typeof target.edits !== 'object' || !target.edits) return target;
  const { deleteObjects: _, ...edits } = { deleteObjects: undefined, ...target.edits };
  return { ...target, edits };
}

test('is derived once per stored status', () => {
  const upgrade = build({ batch: 1 });
  expect(targetsOf(upgrade)).toBe(targetsOf(upgrade));
});
