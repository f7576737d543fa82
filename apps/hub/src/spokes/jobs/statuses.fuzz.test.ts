import { setImmediate as turn } from 'node:timers/promises';
import { Annotation, findCondition, Label } from '@flotilla/api';
import { ClusterClaim, HUB_ACCEPTED, ManagedCluster, ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import { defineTarget, type RandomValues } from '@flotilla/control-plane/fuzzing';
import { judgeWork, trimWork } from '@flotilla/rollout';
import { expect, test } from 'vitest';
import { buildPrecacheSettings } from '../../../testing/observation-builders.ts';
import { decideRegistration } from '../../registration/plan.ts';
import { trimAction, trimJobWork, trimReport, trimView } from '../../trims.ts';
import { observeActions, toObservation } from '../transports/actions/observe.ts';
import { observeWork } from '../transports/work/observe.ts';
import { createPrecacheJob } from './kinds/precache/job.ts';
import { interpret } from './plan.ts';

const precacheJob = createPrecacheJob(buildPrecacheSettings());
const time = '2026-01-01T00:00:00Z';
const seen = { type: 'Processing', status: 'True', reason: 'GetResourceProcessing', message: '', lastTransitionTime: time };
const done = { type: 'Completed', status: 'True', reason: 'ActionDone', message: '', lastTransitionTime: time };
const metadata = (name: string) => ({ name, namespace: 'a', uid: 'u', creationTimestamp: time, labels: { [Label.upgradeUid]: 'uid' } });
const report = { phase: 'pulling', imagesDone: 1, imagesTotal: 2, bytesDone: 1, bytesTotal: 2, bytesPerSecond: 1, at: time };
const results = [
  {
    kind: 'Job',
    metadata: {
      name: 'pre-cache',
      namespace: 'openshift-talo-pre-cache',
      annotations: { 'flotilla.io/progress': JSON.stringify(report) },
    },
    status: { active: 1, conditions: [{ type: 'Failed', status: 'True', reason: 'x', message: 'y' }] },
  },
  { kind: 'Namespace', metadata: { name: 'openshift-talo-pre-cache', annotations: {} }, status: {} },
] as const;
const [, ...views] = ['', ...Object.values(precacheJob.names.views).map(({ name }) => name)];

const judged = {
  job: precacheJob,
  upgradeUid: 'uid',
  cluster: 'a',
  now: 0,
  deadlineAt: 1,
  claimedBy: undefined,
  claimantEnded: false,
  trouble: undefined,
  digest: undefined,
};

/** Bound of a message: the cached part, and the hub's words around it. */
const MAX_TOLD = 2_400;

interface Hostile {
  readonly cluster: unknown;
  readonly views: readonly unknown[];
  readonly actions: readonly unknown[];
}
const hostile = (random: RandomValues): Hostile => ({
  cluster: random.mutate({
    conditions: [
      { ...done, type: 'ManagedClusterConditionAvailable' },
      { ...done, type: 'HubAcceptedManagedCluster' },
    ],
  }),
  views: views.map((_, i) => random.mutate({ conditions: [seen], result: results[i % results.length] })),
  actions: random.list(4, () => random.mutate({ conditions: [done], result: {} })),
});

const ofManifest = (kind: string, name: string, values: Record<string, string | number>) => ({
  resourceMeta: { ordinal: 0, kind, name },
  conditions: ['Applied', 'Available', 'StatusFeedbackSynced'].map((type) => ({ ...done, type })),
  statusFeedback: {
    values: Object.entries(values).map(([key, value]) => ({
      name: key,
      fieldValue: typeof value === 'string' ? { type: 'String', string: value } : { type: 'Integer', integer: value },
    })),
  },
});
const marks = { attempt: 'a' };
const ofWork = {
  conditions: ['Applied', 'Available'].map((type) => ({ ...done, type, observedGeneration: 1 })),
  resourceStatus: {
    manifests: [
      ofManifest('Namespace', 'openshift-talo-pre-cache', marks),
      ofManifest('Job', 'pre-cache', {
        attempt: 'a.0',
        active: 1,
        failed: 'True',
        reason: 'x',
        message: 'y',
        progress: JSON.stringify(report),
      }),
    ],
  },
};

/** Largest object that a server accepts, in bytes. */
const SERVER_BYTES = 1_400_000;
/** Builds a list of values of the largest size that the server accepts. */
function fill<T>(random: RandomValues, value: (index: number, text: string) => T): T[] {
  const text = 'x'.repeat(random.pick([0, 10, 1_000, 32_000, SERVER_BYTES]));
  const count = Math.max(1, Math.floor(SERVER_BYTES / JSON.stringify(value(0, text)).length));
  return Array.from({ length: count }, (_, i) => value(i, text));
}
const condition = (i: number, text: string) => ({ ...done, type: `T${i}`, message: text.slice(0, 32_000) });
const claim = (name: string, value: string) => ({ name, value });
const feedback = (i: number, string: string) => ({ name: `v${i}`, fieldValue: { type: 'String', string } });
/** Builds statuses by which a spoke fills its objects. */
const largest = (random: RandomValues) => ({
  cluster: random.chance(0.5)
    ? { conditions: fill(random, condition) }
    : { clusterClaims: [claim(ClusterClaim.product, 'x'), ...fill(random, (i, text) => claim(`c${i}`, text))] },
  work: {
    conditions: random.chance(0.3) ? fill(random, condition) : [done],
    resourceStatus: {
      manifests: random.chance(0.5)
        ? fill(random, (_, text) => ofManifest(random.pick(['Job', 'ConfigMap', 'A']), 'pre-cache', { v: text }))
        : [{ ...ofManifest('Job', 'pre-cache', {}), statusFeedback: { values: fill(random, feedback) } }],
    },
  },
  view: {
    conditions: [seen],
    result: {
      ...results[random.below(results.length)],
      metadata: {
        name: 'x',
        annotations: {
          ...Object.fromEntries(fill(random, (i, text): [string, string] => [`a${i}`, text])),
          [Annotation.progress]: 'x'.repeat(random.below(SERVER_BYTES)),
        },
      },
    },
  },
});
/** Bound of the characters that the hub keeps of an object: thousands of spokes have several. */
const MOST_KEPT = 300_000;

const targets = [
  defineTarget('statuses as large as a server takes', {
    // Three times the usual bound: a run of 150 ms on one machine takes 440 ms on another.
    maxPauseMs: 600,
    make: largest,
    run: async (given) => {
      // A watch delivers them one by one.
      const cluster = trimReport(
        ManagedCluster.schema.parse({ metadata: metadata('a'), spec: { hubAcceptsClient: false }, status: given.cluster }),
      );
      await turn();
      const work = ManifestWork.schema.parse({ metadata: { ...metadata('precache-work'), generation: 1 }, status: given.work });
      const jobWork = trimJobWork(work);
      await turn();
      const view = trimView(ManagedClusterView.schema.parse({ metadata: metadata(views[0] ?? ''), status: given.view }));
      await turn();
      for (const each of [cluster, view]) expect(JSON.stringify(each).length).toBeLessThan(MOST_KEPT);
      await turn();
      const verdict = decideRegistration({ cluster, renewTime: time, hubNamespace: 'flotilla', now: 0 });
      expect(findCondition(verdict.conditions, HUB_ACCEPTED)?.status).toBe('False');
      await turn();
      judgeWork(trimWork(work), { now: 0, appliedSince: () => 0 });
      await turn();
      const byWork = observeWork(precacheJob.names, { cluster, work: jobWork, other: undefined, isClearing: false, now: 0 });
      const byView = toObservation(precacheJob.names, observeActions(precacheJob.names, 'uid', { cluster, views: [view], actions: [] }));
      for (const each of [byWork, byView]) expect(interpret('Active', each, judged).message?.length ?? 0).toBeLessThan(MAX_TOLD);
    },
  }),
  defineTarget('what a spoke says of a job by its work', {
    make: (random) => ({
      status: random.mutate(ofWork),
      state: random.pick<'PreparingToStart' | 'Active'>(['PreparingToStart', 'Active']),
    }),
    run: ({ status, state }) => {
      const annotations = { 'flotilla.io/attempt': 'a', 'flotilla.io/spec-digest': 'd' };
      const work = trimJobWork(ManifestWork.schema.parse({ metadata: { ...metadata('precache-work'), annotations }, status }));
      const spoke = observeWork(precacheJob.names, { cluster: undefined, work, other: undefined, isClearing: false, now: 0 });
      const { message = '' } = interpret(state, spoke, judged);
      expect(message.length).toBeLessThan(MAX_TOLD);
    },
  }),
  defineTarget('what a spoke says of a job', {
    make: (random) => ({
      ...hostile(random),
      state: random.pick<'PreparingToStart' | 'Starting' | 'Active'>(['PreparingToStart', 'Starting', 'Active']),
    }),
    run: ({ cluster, views: answers, actions, state }) => {
      const seen = observeActions(precacheJob.names, 'uid', {
        cluster: ManagedCluster.schema.parse({ metadata: metadata('a'), status: cluster }),
        views: answers.map((status, i) => trimView(ManagedClusterView.schema.parse({ metadata: metadata(views[i] ?? ''), status }))),
        actions: actions.map((status, i) => trimAction(ManagedClusterAction.schema.parse({ metadata: metadata(`action-${i}`), status }))),
      });
      const observed = toObservation(precacheJob.names, seen);
      const { message = '' } = interpret(state, observed, judged);
      expect(message.length).toBeLessThan(MAX_TOLD);
    },
  }),
  defineTarget('what a spoke says of itself', {
    make: (random) => ({
      status: hostile(random).cluster,
      accepts: random.chance(0.5),
      renewTime: random.chance(0.5) ? random.text(30) : time,
    }),
    run: ({ status, accepts, renewTime }) => {
      const cluster = ManagedCluster.schema.parse({ metadata: metadata('spoke-1'), spec: { hubAcceptsClient: accepts }, status });
      const verdict = decideRegistration({ cluster, renewTime, hubNamespace: 'flotilla', now: 0 });
      expect(verdict.isAccepted).toBe(accepts);
      const again =
        verdict.conditions &&
        decideRegistration({
          cluster: { ...cluster, status: { conditions: verdict.conditions } },
          renewTime,
          hubNamespace: 'flotilla',
          now: 1_000,
        });
      expect(again?.conditions).toBeUndefined();
    },
  }),
  defineTarget('what a spoke says of a work', {
    make: (random) =>
      random.mutate({
        conditions: [
          { ...done, type: 'Applied', observedGeneration: 1 },
          { ...done, type: 'Available', observedGeneration: 1 },
        ],
        resourceStatus: {
          manifests: [
            {
              resourceMeta: { ordinal: 0, kind: 'ConfigMap' },
              conditions: [done],
              statusFeedback: { values: [{ name: 'v', fieldValue: { type: 'String', string: 'x' } }] },
            },
          ],
        },
      }),
    run: (status) => {
      const work = ManifestWork.schema.parse({
        metadata: { ...metadata('w'), generation: 1 },
        spec: { workload: { manifests: [{ kind: 'ConfigMap' }] } },
        status,
      });
      judgeWork(trimWork(work), { now: 0, appliedSince: () => 0 });
    },
  }),
];

test.each(targets)('$name', async (target) => {
  expect((await target.fuzz()).cases).toBeGreaterThan(0);
});
