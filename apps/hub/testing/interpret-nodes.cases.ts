import type { PullerReport } from '@flotilla/api/ran';
import { RETRY_BUDGET } from '../src/spokes/transports/port/port.ts';
import { context, failed, NODES_REFUSED, nodesRefused, progress, type Row } from './interpret-case.ts';
import { buildView, foundJob } from './observation-builders.ts';

const succeeded = (report: Partial<PullerReport>): Row['spoke'] => ({
  jobView: buildView(foundJob({ succeeded: 1 }, progress(undefined, { phase: 'done', ...report }))),
});

/** Cases of `decide` about the nodes of a spoke: those that stay away, are refused, or would lose what they have. */
export const ofNodes: Row[] = [
  {
    name: 'a success of a node that would lose its images again',
    from: 'Active',
    spoke: succeeded({
      node: 'n1',
      risks: [
        { name: 'imageMaximumGCAge', value: '12h' },
        { name: 'kubelet configuration', value: 'unknown' },
      ],
    }),
    to: 'Succeeded',
    message:
      'the images are there, but node n1 has imageMaximumGCAge 12h; free space, correct the setting or bring the node back on spoke-1 before its window',
  },
  {
    name: 'a success of nodes of which one is in danger, and another stayed away',
    from: 'Active',
    spoke: succeeded({
      node: 'n1',
      risks: [{ name: 'imageMaximumGCAge', value: '12h', node: 'n2' }],
      nodes: { total: 3, done: 2, failed: 0, absent: 1, problems: [{ node: 'n3', message: 'no puller has come from it for 9 s' }] },
    }),
    to: 'Succeeded',
    message:
      'the images are there, but node n2 has imageMaximumGCAge 12h; 1 of 3 nodes stayed away: n3; free space, correct the setting or bring the node back on spoke-1 before its window',
  },
  {
    name: 'a failure by nothing but an absent node',
    from: 'Active',
    spoke: {
      jobView: buildView(
        failed(
          'BackoffLimitExceeded',
          undefined,
          progress('1 of 3 nodes are not proven: n3: no puller has come from it for 600 s', {
            nodes: { total: 3, done: 2, failed: 0, absent: 1 },
          }),
        ),
      ),
    },
    to: 'PrecacheTimeout',
    message: 'timed out: 1 of 3 nodes are not proven: n3: no puller has come from it for 600 s',
  },
  {
    name: 'a failure of one node while another is absent',
    from: 'Active',
    spoke: {
      jobView: buildView(
        failed('BackoffLimitExceeded', undefined, progress('two', { nodes: { total: 3, done: 1, failed: 1, absent: 1 } })),
      ),
    },
    to: 'UnrecoverableError',
    message: 'two',
  },
  {
    name: 'a job whose other nodes are refused for good',
    from: 'Active',
    spoke: { jobView: buildView(foundJob({ active: 1, ready: 1 })), actions: nodesRefused(RETRY_BUDGET) },
    context: { ...context, failsWithoutNodes: true },
    to: 'UnrecoverableError',
    message: NODES_REFUSED,
  },
  {
    name: 'the same right after its start',
    from: 'Starting',
    spoke: { jobView: buildView(foundJob({ active: 1, ready: 1 })), actions: nodesRefused(RETRY_BUDGET) },
    context: { ...context, failsWithoutNodes: true },
    to: 'UnrecoverableError',
    message: NODES_REFUSED,
  },
  {
    name: 'a job whose other nodes were refused less often than the budget',
    from: 'Active',
    spoke: { jobView: buildView(foundJob({ active: 1, ready: 1 })), actions: nodesRefused(RETRY_BUDGET - 1) },
    context: { ...context, failsWithoutNodes: true },
    to: 'Active',
  },
  {
    name: 'a job whose other nodes are refused, where absent nodes are no failure',
    from: 'Active',
    spoke: { jobView: buildView(foundJob({ active: 1, ready: 1 })), actions: nodesRefused(RETRY_BUDGET) },
    to: 'Active',
  },
  {
    name: 'a job that succeeded although other nodes are refused',
    from: 'Active',
    spoke: { jobView: buildView(foundJob({ succeeded: 1 })), actions: nodesRefused(RETRY_BUDGET) },
    context: { ...context, failsWithoutNodes: true },
    to: 'Succeeded',
  },
  {
    name: 'a success of a node that pins nothing',
    from: 'Active',
    spoke: succeeded({ risks: [{ name: 'pins', value: 'none: CRI-O pins nothing' }] }),
    to: 'Succeeded',
    message:
      'no pins: headroom alone (none: CRI-O pins nothing); nothing failed; keep more of its disk free on spoke-1, upgrade containerd there, or correct the cause that the message names',
  },
  {
    name: 'a success of a node with too few pins that would lose its images besides',
    from: 'Active',
    spoke: succeeded({
      risks: [
        { name: 'imageMaximumGCAge', value: '12h' },
        { name: 'pins', value: '3 of 5' },
      ],
    }),
    to: 'Succeeded',
    message:
      'the images are there, but its node has imageMaximumGCAge 12h; too few pins: headroom alone for the rest (3 of 5); free space, correct the setting or bring the node back on spoke-1 before its window',
  },
];
