import type { WaitCause } from '@flotilla/api/answers';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { describe, expect, test } from 'vitest';
import { fellBack, leftBehind } from '../upgrade/texts.ts';
import { WHOLE_UPGRADE, waitMessage } from '../waits/wait.ts';
import type { Seen, UpgradeFacts } from './facts.ts';
import { foldWaits, summarizeWaits } from './fold.ts';
import { Inquiry } from './why.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const T0 = '2026-01-01T11:00:00Z';
const SKIPPED = { kind: 'skipped' } as const;
const skip = <T>(): Seen<T> => SKIPPED;
const condition = (type: string, status: 'True' | 'False', reason: string) => ({
  type,
  status,
  reason,
  message: '',
  lastTransitionTime: T0,
});
const RUNNING = [condition('Ready', 'False', 'InProgress'), condition('Progressing', 'True', 'InProgress')];
const PLANNED = [condition('Ready', 'False', 'NotEnabled'), condition('ClustersSelected', 'True', 'ClusterSelectionCompleted')];

interface Given {
  readonly spec?: object;
  readonly annotations?: Record<string, string>;
  /** Labels by cluster; a cluster that is left out has its name alone. */
  readonly labels?: Record<string, Record<string, string>>;
}

/** Answers about an upgrade whose hub leads, from its status alone. */
function inquire(status: object, { spec = {}, annotations = {}, labels }: Given = {}): Inquiry {
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', namespace: 'default', annotations },
    spec: { clusters: [], remediationStrategy: { maxConcurrency: 1 }, managedPolicies: ['p'], ...spec },
    status: { status: {}, conditions: PLANNED, managedPoliciesForUpgrade: [{ name: 'p', namespace: 'ns' }], ...status },
  });
  const facts: UpgradeFacts = {
    upgrade,
    now: NOW,
    hub: SKIPPED,
    cluster: (name) =>
      labels ? { kind: 'read', object: ManagedCluster.schema.parse({ metadata: { name, labels: { name, ...labels[name] } } }) } : SKIPPED,
    agentLease: skip,
    upgradeAt: skip,
    policyCopy: skip,
    policy: skip,
    approvals: skip,
    work: skip,
  };
  return new Inquiry(facts);
}

const batch = (currentBatch: number, currentBatchRemediationProgress: object = {}, more: object = {}) => ({
  conditions: RUNNING,
  remediationPlan: [['a', 'b'], ['c']],
  status: { startedAt: T0, currentBatch, currentBatchStartedAt: T0, currentBatchRemediationProgress },
  ...more,
});
const AT_P = { state: 'InProgress', policyIndex: 0 };
const complete = (...names: readonly string[]) => names.map((name) => ({ name, state: 'complete' }));
const ofAll = (cause: WaitCause, says: string) => ({ [WHOLE_UPGRADE]: waitMessage({ cause, says }) });
const said = (inquiry: Inquiry) =>
  Object.fromEntries(summarizeWaits(inquiry, new Map()).map(({ cause, for: what, names }) => [names.join(), `${cause}: ${what}`]));

describe('a status says what clusters wait for', () => {
  test.each<{ name: string; inquiry: Inquiry; want: Record<string, string> }>([
    {
      name: 'before the start',
      inquiry: inquire({ remediationPlan: [['a', 'b']], messages: ofAll('gate-enable', 'the upgrade is not enabled') }),
      want: { 'a,b': 'gate-enable: the upgrade is not enabled' },
    },
    {
      name: 'while it is refused',
      inquiry: inquire(
        { conditions: [...PLANNED, { ...condition('Validated', 'False', 'InvalidSpec'), message: 'spec.x is wrong' }] },
        { spec: { clusters: ['a'] } },
      ),
      want: { a: 'refused: spec.x is wrong' },
    },
    {
      name: 'while others pre-cache',
      inquiry: inquire(
        {
          remediationPlan: [['a', 'b', 'c', 'd']],
          precaching: { status: { a: 'Active', b: 'Succeeded', c: 'NotStarted', d: 'Starting' } },
        },
        { spec: { preCaching: true } },
      ),
      want: {
        a: 'precache-pull: their pull',
        b: 'gate-precaching: the pre-caching of other clusters to end',
        c: 'precache-line: their turn to pre-cache',
        d: 'precache-start: the pod of their job to run',
      },
    },
    {
      name: 'while others are backed up',
      inquiry: inquire({ remediationPlan: [['a', 'b']], backup: { status: { a: 'Succeeded', b: 'Active' } } }, { spec: { backup: true } }),
      want: { a: 'gate-backup: the backup of other clusters to end', b: 'gate-backup: their backup' },
    },
    {
      name: 'in a batch',
      inquiry: inquire(batch(1, { a: AT_P, b: { ...AT_P, firstCompliantAt: T0 } })),
      want: { a: 'policy: policy p to be compliant', b: 'soak: the soak of policy p', c: 'batch: batch 1 to end' },
    },
    {
      name: 'in a batch of works: for a work, for leave to begin, and for the last edits',
      inquiry: inquire(
        batch(
          1,
          { a: { state: 'InProgress', manifestWorkIndex: 0 }, c: { state: 'Completed' } },
          { remediationPlan: [['a', 'b', 'c'], ['d']], manifestWorkTemplates: ['t'] },
        ),
        { spec: { managedPolicies: undefined, manifestWorkTemplates: ['t'] } },
      ),
      want: {
        a: 'work: ManifestWork of t to be done',
        b: 'leave: leave to begin',
        c: 'edits: waits for its edits after completion',
        d: 'batch: batch 1 to end',
      },
    },
    {
      name: 'while others are prepared',
      inquiry: inquire(
        { conditions: RUNNING, remediationPlan: [['a', 'b']], status: { startedAt: T0 } },
        { spec: { actions: { beforeEnable: { addClusterLabels: { upgrading: '' } } } }, labels: { a: { upgrading: '' } } },
      ),
      want: { 'a,b': 'edits: waits for the edits before the rollout' },
    },
    {
      name: 'before the next batch',
      inquiry: inquire(
        batch(
          2,
          {},
          {
            clusters: complete('a', 'b'),
            status: { startedAt: T0, currentBatch: 2 },
            messages: ofAll('gate-window', 'Waiting for the window'),
          },
        ),
      ),
      want: { c: 'gate-window: the window to open' },
    },
    {
      name: 'when a cluster fell back, and when it is enforced again',
      inquiry: inquire(batch(2, { a: AT_P, c: AT_P }, { clusters: complete('b'), messages: { b: waitMessage(fellBack('p', undefined)) } })),
      want: { 'a,b': 'policy: policy p to be compliant again', c: 'policy: policy p to be compliant' },
    },
    {
      name: 'when it looks back at those that were late',
      inquiry: inquire(
        batch(
          2,
          {},
          { clusters: [...complete('b', 'c'), { name: 'a', state: 'timedout' }], messages: { a: waitMessage(leftBehind('p')) } },
        ),
      ),
      want: { a: 'policy: policy p to be compliant again' },
    },
    {
      name: 'and nothing after the end',
      inquiry: inquire(batch(2, {}, { clusters: complete('a', 'b', 'c'), conditions: [condition('Succeeded', 'True', 'Completed')] })),
      want: {},
    },
  ])('$name', ({ inquiry, want }) => expect(said(inquiry)).toEqual(want));
});

test('a status and an answer say the same of the same clusters', () => {
  const inquiry = inquire(batch(1, { a: AT_P, b: AT_P }));
  const fromStatus = summarizeWaits(inquiry, new Map()).map(({ cause, for: says, clusters, names: [example] }) => ({
    cause,
    says,
    clusters,
    example,
  }));
  expect(fromStatus).toEqual(foldWaits(inquiry));
});

test('twenty causes at most, five names of each, what most wait for, the worst first; numbers are no difference', () => {
  const clusters = Array.from({ length: 60 }, (_, index) => `c${index}`);
  const cause = (index: number) => String.fromCodePoint(97 + (index % 25));
  const messages = Object.fromEntries(clusters.slice(10).map((name, index) => [name, `job ${cause(index)} has failed ${index} times`]));
  const pulling = clusters.map((name) => [name, 'Active'] as const);
  const waits = summarizeWaits(
    inquire({ remediationPlan: [clusters], precaching: { status: Object.fromEntries(pulling), messages } }, { spec: { preCaching: true } }),
    new Map(),
  );
  expect(waits).toHaveLength(20);
  expect(waits.at(-1)).toEqual({ cause: 'precache-pull', for: 'their pull', clusters: 10, names: clusters.slice(0, 5) });
  expect(waits.slice(0, -1).every(({ clusters: count }) => count === 2)).toBe(true);
});

test('causes that as many clusters wait for come by their sentence, and those that fewest wait for are left out', () => {
  const [single, pairs] = [['u', 'v', 'w', 'x', 'y'], Array.from({ length: 20 }, (_, index) => String.fromCodePoint(116 - index))];
  const causes = [...single, ...pairs, ...pairs];
  const clusters = causes.map((_, index) => `c${index}`);
  const messages = Object.fromEntries(causes.map((cause, index) => [`c${index}`, `job ${cause} has failed`]));
  const states = Object.fromEntries(clusters.map((name) => [name, 'Active']));
  const waits = summarizeWaits(
    inquire({ remediationPlan: [clusters], precaching: { status: states, messages } }, { spec: { preCaching: true } }),
    new Map(),
  );
  expect(waits.map(({ for: says, clusters: count }) => `${count} ${says}`)).toEqual(
    pairs.toSorted().map((cause) => `2 job ${cause} has failed`),
  );
});

test('since when is that of the first, and what was stored before a process began counts too', () => {
  const fallen = (waits: object[]) =>
    inquire(
      batch(
        2,
        { c: AT_P },
        {
          clusters: complete('a', 'b'),
          messages: { a: waitMessage(fellBack('p', undefined)), b: waitMessage(fellBack('p', 'window')) },
          waits,
        },
      ),
    );
  const sinceOf = (inquiry: Inquiry) =>
    summarizeWaits(
      inquiry,
      new Map([
        ['a', '2026-01-01T00:00:20Z'],
        ['b', '2026-01-01T00:00:10Z'],
      ]),
    ).map(({ since }) => since);
  expect(sinceOf(fallen([]))).toEqual(['2026-01-01T00:00:10Z', undefined]);
  const stored = { cause: 'policy', for: 'policy p to be compliant again', clusters: 1, names: ['b'], since: '2026-01-01T00:00:05Z' };
  expect(sinceOf(fallen([stored]))).toEqual(['2026-01-01T00:00:05Z', undefined]);
  // A stored time of another cause, or one that is none, counts for nothing.
  expect(sinceOf(fallen([{ ...stored, for: 'policy q to be compliant again' }]))).toEqual(['2026-01-01T00:00:10Z', undefined]);
  expect(sinceOf(fallen([{ ...stored, since: 'tomorrow' }]))).toEqual(['2026-01-01T00:00:10Z', undefined]);
});
