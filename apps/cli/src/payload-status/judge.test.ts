import { PayloadStatusAnswer } from '@flotilla/api/answers';
import { ClusterOperator, ClusterVersion } from '@flotilla/api/config';
import { describe, expect, test } from 'vitest';
import { payloadStatusText } from './command.ts';
import { judgePayload } from './judge.ts';

const now = Date.parse('2026-02-01T12:00:00Z');
const at = (minutesAgo: number) => new Date(now - minutesAgo * 60_000).toISOString();
const condition = (type: string, status: string, message = '', minutesAgo = 10) => ({
  type,
  status,
  reason: '',
  message,
  lastTransitionTime: at(minutesAgo),
});
const done = (version: string, startedAgo: number, took: number) => ({
  state: 'Completed',
  version,
  image: '',
  startedTime: at(startedAgo),
  completionTime: at(startedAgo - took),
});
const operator = (name: string, ...conditions: object[]) =>
  ClusterOperator.schema.parse({ metadata: { name }, spec: {}, status: { conditions } });
/** A generation of the spec. */
interface Edit {
  readonly generation?: number;
  readonly desiredUpdate?: object;
}
const judge = (status: object | undefined, operators: ClusterOperator[] = [], { desiredUpdate, ...metadata }: Edit = {}) =>
  PayloadStatusAnswer.parse(
    judgePayload({
      server: 'https://spoke',
      version: ClusterVersion.schema.parse({
        metadata: { name: 'version', ...metadata },
        spec: { clusterID: 'a', desiredUpdate },
        ...(status && { status }),
      }),
      operators,
      notes: [],
      now,
    }),
  );

const applying = { state: 'Partial', version: '4.18.10', image: '', startedTime: at(20), completionTime: null };
/** As the reference writes it in the middle of an update. */
const underWay = {
  desired: { version: '4.18.10', image: '' },
  history: [applying, done('4.18.9', 10_000, 50), done('4.18.8', 20_000, 70), done('4.18.0', 90_000, 30)],
  conditions: [
    condition('Available', 'True', 'Done applying 4.18.9', 9_950),
    condition('Failing', 'False'),
    condition('Progressing', 'True', 'Working towards 4.18.10: 106 of 841 done (12% complete), waiting on etcd, kube-apiserver', 20),
  ],
};

describe('a release that is being applied', () => {
  test('has its level, what it waits for, and an end by the updates before', () => {
    const operators = [
      operator('etcd', condition('Progressing', 'True', 'NodeInstaller: 2 of 3', 7), condition('Available', 'True')),
      operator('kube-apiserver'),
      operator('console', condition('Degraded', 'True', 'route is away', 3)),
      operator('dns', condition('Available', 'True')),
    ];
    expect(judge(underWay, operators)).toMatchObject({
      stage: 'applying',
      version: '4.18.10',
      from: '4.18.9',
      level: { done: 106, total: 841 },
      since: at(20),
      waits: [
        { operator: 'etcd', since: at(7), says: 'Progressing=True: NodeInstaller: 2 of 3', isNamed: true },
        { operator: 'kube-apiserver', says: 'has not reported the release yet', isNamed: true },
        { operator: 'console', since: at(3), says: 'Degraded=True: route is away', isNamed: false },
      ],
      secondsLeft: { certainty: 'forecast', value: 50 * 60 },
      endsAt: at(-50),
    });
  });

  test.each([
    {
      name: 'by the pace where no update has ended',
      history: [applying, done('4.18.9', 90_000, 30)],
      want: { certainty: 'forecast', value: 8321 },
    },
    {
      name: 'by the pace where it takes longer than those before',
      history: [{ ...applying, startedTime: at(100) }, done('4.18.9', 10_000, 50), done('4.18.0', 90_000, 30)],
      want: { certainty: 'forecast', value: 41_604 },
    },
    { name: 'unknown where nothing is counted', history: [applying], message: 'Working towards 4.18.10', want: { certainty: 'unknown' } },
  ])('ends $name', ({ history, message, want }) => {
    const conditions = message === undefined ? underWay.conditions : [condition('Progressing', 'True', message)];
    expect(judge({ ...underWay, history, conditions }).secondsLeft).toMatchObject(want);
  });
});

test.each([
  { name: 'no status', status: undefined, want: { stage: 'unseen', secondsLeft: { certainty: 'unknown' } } },
  {
    name: 'a release that is applied',
    status: { history: [done('4.18.9', 100, 50)], conditions: [condition('Progressing', 'False', 'Cluster version is 4.18.9')] },
    want: {
      stage: 'applied',
      version: '4.18.9',
      since: at(50),
      secondsLeft: { certainty: 'exact', value: 0 },
      says: 'Cluster version is 4.18.9',
    },
  },
  {
    name: 'an update that fails',
    status: { ...underWay, conditions: [condition('Failing', 'True', 'Could not update deployment "a"', 4)] },
    want: { stage: 'failing', since: at(4), says: 'Could not update deployment "a"' },
  },
  {
    name: 'a release that is not taken',
    status: { history: [done('4.18.9', 100, 50)], conditions: [condition('ReleaseAccepted', 'False', 'no signature', 2)] },
    want: { stage: 'refused', since: at(2), says: 'no signature', waits: [] },
  },
])('$name', ({ status, want }) => expect(judge(status)).toMatchObject(want));

describe('an edit that no operator has processed', () => {
  const applied = {
    observedGeneration: 2,
    history: [done('4.18.9', 100, 50), done('4.18.8', 20_000, 70)],
    conditions: [condition('Progressing', 'False', 'Cluster version is 4.18.9')],
  };
  const edit = { generation: 3, desiredUpdate: { version: '4.18.10' } };

  test('is being applied, from the release that is', () => {
    expect(judge(applied, [], edit)).toMatchObject({
      stage: 'applying',
      version: '4.18.10',
      from: '4.18.9',
      says: 'no operator has processed generation 3 of the spec yet; the status is about generation 2',
      secondsLeft: { certainty: 'unknown' },
    });
    expect(judge(applied, [], edit)).not.toHaveProperty('startedAt', expect.anything());
    expect(judge(applied, [], { generation: 3 })).toMatchObject({ stage: 'applying', version: '4.18.9', from: '4.18.8' });
  });

  test('says why its release is not there yet, where the operator does', () => {
    const fetching = condition('ReleaseAccepted', 'Unknown', 'Retrieving payload');
    expect(judge({ ...applied, conditions: [...applied.conditions, fetching] }, [], edit).says).toBe('Retrieving payload');
  });

  test('is refused, fails, or is none', () => {
    const refused = condition('ReleaseAccepted', 'False', 'no signature');
    expect(judge({ ...applied, conditions: [refused] }, [], edit).stage).toBe('refused');
    expect(judge({ ...applied, conditions: [condition('Failing', 'True')] }, [], edit).stage).toBe('failing');
    expect(judge({ ...applied, observedGeneration: 3 }, [], edit).stage).toBe('applied');
    expect(judge({ ...applied, observedGeneration: undefined }, [], edit).stage).toBe('applied');
  });
});

test('is shown escaped, and fits the terminal', () => {
  const answer = judge(underWay, [operator('etcd', condition('Progressing', 'True', '\u001b[2J\u202egone '.repeat(900), 7))]);
  const text = payloadStatusText(answer, { hasColor: false, width: 60 }, now);
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(text.split('\n').filter((line) => line.length > 60)).toEqual([]);
  expect(text.split('\n').slice(0, 3)).toEqual([
    '4.18.9 -> 4.18.10: applying, since 20 min',
    '  Working towards 4.18.10: 106 of 841 done (12% complete), …',
    '  106 of 841 manifests (12 %)',
  ]);
});
