import { expect, test } from 'vitest';
import type { Json } from '../json-values.ts';
import { podTrouble } from './pod-trouble.ts';

const pod = (status: Json, metadata: Json = {}): Json => ({ metadata: { name: 'ds-x', ...metadata }, spec: { nodeName: 'n1' }, status });
const waiting = (reason: string, message?: string, more: Json = {}): Json =>
  pod({ phase: 'Pending', containerStatuses: [{ name: 'main', ready: false, state: { waiting: { reason, message } }, ...more }] });
const condition = (type: string, status: string, reason: string, message: string) => ({ type, status, reason, message });
const unschedulable = pod({
  phase: 'Pending',
  conditions: [condition('PodScheduled', 'False', 'Unschedulable', '0/3 nodes are available: 3 Insufficient cpu.')],
});
const well = pod({ phase: 'Running', containerStatuses: [{ name: 'main', ready: true, state: { running: {} } }] });

test.each<{ name: string; pods: Json[]; want: string | undefined }>([
  { name: 'nothing where all is well', pods: [well], want: undefined },
  { name: 'nothing of a pod that is on its way', pods: [waiting('ContainerCreating'), waiting('PodInitializing')], want: undefined },
  {
    name: 'an image that cannot be pulled',
    pods: [well, waiting('ImagePullBackOff', 'Back-off pulling image "r/i:1"')],
    want: 'pod ds-x: container main: ImagePullBackOff: Back-off pulling image "r/i:1"',
  },
  {
    name: 'a crash, with how it ended',
    pods: [
      waiting('CrashLoopBackOff', 'back-off 5m0s', { restartCount: 7, lastState: { terminated: { reason: 'OOMKilled', exitCode: 137 } } }),
    ],
    want: 'pod ds-x: container main: CrashLoopBackOff: back-off 5m0s (last ended after 7 restarts: OOMKilled: exit code 137)',
  },
  {
    name: 'a container that runs before the others',
    pods: [
      pod({
        initContainerStatuses: [
          { name: 'init', state: { waiting: { reason: 'CreateContainerConfigError', message: 'secret "s" not found' } } },
        ],
      }),
    ],
    want: 'pod ds-x: container init: CreateContainerConfigError: secret "s" not found',
  },
  {
    name: 'a pod that no node takes',
    pods: [unschedulable],
    want: 'pod ds-x: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.',
  },
  {
    name: 'the gravest of several',
    pods: [unschedulable, waiting('ErrImagePull', 'not found')],
    want: 'pod ds-x: container main: ErrImagePull: not found',
  },
  {
    name: 'a pod that was evicted',
    pods: [pod({ phase: 'Failed', reason: 'Evicted', message: 'low on memory' })],
    want: 'pod ds-x: Failed: Evicted: low on memory',
  },
  {
    name: 'a pod that makes room',
    pods: [pod({ phase: 'Running', conditions: [condition('DisruptionTarget', 'True', 'PreemptionByScheduler', 'preempting')] })],
    want: 'pod ds-x: PreemptionByScheduler: preempting',
  },
  {
    name: 'a pod that does not end',
    pods: [{ ...well, metadata: { name: 'ds-x', deletionTimestamp: 't' } }],
    want: 'pod ds-x: is being deleted on node n1',
  },
  {
    name: 'a pod that is not ready',
    pods: [pod({ phase: 'Running', containerStatuses: [{ name: 'main', ready: false, state: { running: {} } }] })],
    want: 'pod ds-x: container main runs and is not ready',
  },
  { name: 'nothing of what is no pod', pods: [{ metadata: 'x', status: [], spec: 1 }], want: undefined },
  {
    name: 'hostile words, bounded and printable',
    pods: [waiting('ErrImagePull', `\u001b[31m${'x'.repeat(100_000)}`)],
    want: `pod ds-x: container main: ErrImagePull: [31m${'x'.repeat(300 - 'container main: ErrImagePull: [31m'.length - 1)}…`,
  },
])('pods say $name', ({ pods, want }) => expect(podTrouble(pods)).toBe(want));
