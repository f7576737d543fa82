import { describe, expect, test } from 'vitest';
import { clusterVersion, entry } from '../../testing/cluster-version-builders.ts';
import { checkPreconditions, type PreconditionFailure, summarizePreconditions } from './preconditions.ts';

/** Findings of the checks on a cluster at a version, as `name reason blocks: message`, or `warns`. */
function found({ current, target, status = {}, spec = {} }: { current: string; target: string; status?: object; spec?: object }): string[] {
  const object = clusterVersion({ spec, status: { desired: { version: current, image: `r@sha256:${current}` }, ...status } });
  return checkPreconditions({ clusterVersion: object, target }).map(
    ({ name, reason, blocking, message }) => `${name} ${reason} ${blocking ? 'blocks' : 'warns'}: ${message}`,
  );
}
const offered = (version: string) => ({ availableUpdates: [{ version, image: 'i' }] });
const condition = (type: string, status: string, reason = 'Why', message = 'because') => ({ type, status, reason, message });
const notUpgradeable = { conditions: [condition('Upgradeable', 'False', 'Gate', 'read this first')] };

describe('versions', () => {
  test.each([
    { name: 'a patch', current: '4.20.1', target: '4.20.2', want: [] },
    { name: 'the next minor', current: '4.20.1', target: '4.21.0', want: [] },
    { name: 'the same version', current: '4.20.1', target: '4.20.1', want: [] },
    { name: 'from 4 to 5.0', current: '4.22.1', target: '5.0.3', want: [] },
    {
      name: 'two minors at once',
      current: '4.20.1',
      target: '4.22.0',
      want: [
        'ClusterVersionGiantHop MultipleMinorVersionsUpdate blocks: 4.22.0 is more than one minor version beyond the current target 4.20.1 (4.22 > 4.(20+1)), and only updates within the current minor version or to the next minor version are supported.',
      ],
    },
    {
      name: 'from 4 to a later 5',
      current: '4.22.1',
      target: '5.1.0',
      want: [
        'ClusterVersionGiantHop MajorVersionUpdate blocks: 5.1.0 has a larger major version than the current target 4.22.1 (5 > 4), and only updates within the current major version or to 5.0 are supported.',
      ],
    },
    {
      name: 'another major',
      current: '5.0.1',
      target: '6.0.0',
      want: [
        'ClusterVersionGiantHop MajorVersionUpdate blocks: 6.0.0 has a larger major version than the current target 5.0.1 (6 > 5), and only updates within the current major version are supported.',
      ],
    },
  ])('$name', ({ current, target, want }) => expect(found({ current, target, status: offered(target) })).toEqual(want));

  test.each([
    {
      name: 'back without a history',
      target: '4.20.0',
      history: [entry('4.20.1', 'Completed')],
      want: ['4.20.0 is less than the current target 4.20.1, and the cluster has no previous Semantic Version'],
    },
    {
      name: 'back to a version the cluster did not have last',
      target: '4.19.0',
      history: [entry('4.20.1', 'Partial'), entry('4.20.0', 'Completed'), entry('4.19.0', 'Completed')],
      want: [
        "4.19.0 is less than the current target 4.20.1, and the only supported rollback is to the cluster's previous version 4.20.0 (r@sha256:4.20.0)",
      ],
    },
    {
      name: 'back to the minor the cluster came from',
      target: '4.19.9',
      history: [entry('4.20.1', 'Partial'), entry('4.19.9', 'Completed')],
      want: [
        "4.19.9 is less than the current target 4.20.1 and matches the cluster's previous version, but rollbacks that change major or minor versions are not recommended",
      ],
    },
    {
      name: 'back to the patch the cluster came from',
      target: '4.20.0',
      history: [entry('4.20.1', 'Partial'), entry('4.20.0', 'Completed')],
      want: [],
    },
  ])('$name', ({ target, history, want }) => {
    const texts = found({ current: '4.20.1', target, status: { history, ...offered(target) } });
    expect(texts).toEqual(want.map((text) => `ClusterVersionRollback LowDesiredVersion blocks: ${text}`));
  });

  test('a version that is none stops the update where it is the one asked for', () => {
    expect(found({ current: '', target: '4.20.1', status: offered('4.20.1') }).map((text) => text.split(': ')[0])).toEqual([
      'ClusterVersionRollback InvalidCurrentVersion warns',
      'ClusterVersionGiantHop InvalidCurrentVersion warns',
      'ClusterVersionUpgradeable InvalidCurrentVersion warns',
    ]);
    expect(found({ current: '4.20.1', target: 'x', status: offered('x') }).map((text) => text.split(': ')[0])).toEqual([
      'ClusterVersionRollback InvalidDesiredVersion blocks',
      'ClusterVersionGiantHop InvalidDesiredVersion blocks',
      'ClusterVersionUpgradeable InvalidDesiredVersion blocks',
    ]);
  });
});

describe('a cluster that is not upgradeable', () => {
  const unmanaged = { overrides: [{ kind: 'Deployment', group: 'apps', namespace: 'n', name: 'd', unmanaged: true }] };
  const moving = {
    conditions: [...notUpgradeable.conditions, condition('Progressing', 'True')],
    history: [entry('4.20.1', 'Partial'), entry('4.19.5', 'Completed')],
  };
  test.each([
    {
      name: 'takes no other minor',
      target: '4.21.0',
      status: notUpgradeable,
      want: ['ClusterVersionUpgradeable Gate blocks: read this first'],
    },
    { name: 'takes a patch', target: '4.20.2', status: notUpgradeable, want: [] },
    {
      name: 'is told of its overrides with a patch',
      target: '4.20.2',
      status: notUpgradeable,
      spec: unmanaged,
      want: [
        'ClusterVersionUpgradeable ClusterVersionOverridesSet warns: Retarget from 4.20.1 to 4.20.2 is not blocked by ClusterVersionOverridesSet. But Disabling ownership via cluster version overrides prevents updates between minor or major versions. Please remove overrides before requesting a minor or major version update.',
      ],
    },
    {
      name: 'is told that it is between minors when it is sent on',
      target: '4.20.2',
      status: moving,
      want: [
        'ClusterVersionUpgradeable MinorVersionClusterUpdateInProgress warns: Retarget to 4.20.2 while a minor version update from 4.19.5 to 4.20.1 is in progress',
      ],
    },
  ])('$name', ({ target, status, spec, want }) =>
    expect(found({ current: '4.20.1', target, spec, status: { ...status, ...offered(target) } })).toEqual(want),
  );

  test.each(['Unknown', 'True'])('one that is %s takes another minor', (status) =>
    expect(
      found({ current: '4.20.1', target: '4.21.0', status: { conditions: [condition('Upgradeable', status)], ...offered('4.21.0') } }),
    ).toEqual([]),
  );
});

describe('an update that is not recommended', () => {
  const conditional = (...conditions: object[]) => ({
    conditionalUpdates: [{ release: { version: '4.20.2', image: 'i' }, risks: [{ name: 'R', message: 'm', url: 'u' }], conditions }],
  });
  const retrieved = (status: string) => ({ conditions: [condition('RetrievedUpdates', status, 'Cause')] });
  test.each([
    { name: 'True', status: conditional(condition('Recommended', 'True')), want: [] },
    {
      name: 'False',
      status: conditional(condition('Recommended', 'False', 'Leak')),
      want: ['Leak: Update from 4.20.1 to 4.20.2 is not recommended:\n\nbecause'],
    },
    {
      name: 'Unknown',
      status: conditional(condition('Recommended', 'Unknown', 'EvaluationFailed')),
      want: ['EvaluationFailed: Update from 4.20.1 to 4.20.2 is Recommended=Unknown: EvaluationFailed: because'],
    },
    {
      name: 'without the condition',
      status: conditional(),
      want: ['UnknownConditionType: Update from 4.20.1 to 4.20.2 has a status.conditionalUpdates entry, but no Recommended condition.'],
    },
    {
      name: 'without a channel',
      status: {},
      spec: { channel: '' },
      want: ['NoChannel: Configured channel is unset, so the recommended status of updating from 4.20.1 to 4.20.2 is unknown.'],
    },
    {
      name: 'that the graph does not have',
      status: retrieved('True'),
      want: [
        'UnknownUpdate: RetrievedUpdates=True (Cause), so the update from 4.20.1 to 4.20.2 is probably neither recommended nor supported.',
      ],
    },
    {
      name: 'while no graph can be had',
      status: retrieved('False'),
      want: ['UnknownUpdate: RetrievedUpdates=False (Cause), so the recommended status of updating from 4.20.1 to 4.20.2 is unknown.'],
    },
    {
      name: 'before a graph was asked for',
      status: {},
      want: ['UnknownUpdate: No RetrievedUpdates, so the recommended status of updating from 4.20.1 to 4.20.2 is unknown.'],
    },
  ])('$name only warns', ({ status, spec, want }) =>
    expect(found({ current: '4.20.1', target: '4.20.2', status, spec })).toEqual(
      want.map((text) => `ClusterVersionRecommendedUpdate ${text.replace(': ', ' warns: ')}`),
    ),
  );
});

describe('summarizePreconditions', () => {
  const failed = (blocking: boolean, reason = 'Why'): PreconditionFailure => ({ name: 'Check', reason, message: 'because', blocking });
  const text = (reason = 'Why') => `Precondition "Check" failed because of "${reason}": because`;
  const both = `Multiple precondition checks failed:\n* ${text()}\n* ${text('Other')}`;

  test.each([
    { name: 'nothing', failures: [], force: false, want: {} },
    { name: 'a warning', failures: [failed(false)], force: false, want: { acceptedRisks: text() } },
    { name: 'a warning that is forced', failures: [failed(false)], force: true, want: { acceptedRisks: text() } },
    {
      name: 'what is forced',
      failures: [failed(true), failed(false, 'Other')],
      force: true,
      want: { acceptedRisks: `Forced through blocking failures: ${both}` },
    },
    { name: 'what stops it', failures: [failed(true)], force: false, want: { error: { message: text() } } },
    {
      name: 'what stops it among others',
      failures: [failed(true), failed(false, 'Other')],
      force: false,
      want: { error: { message: both } },
    },
  ])('$name', ({ failures, force, want }) => expect(summarizePreconditions(failures, force)).toMatchObject(want));

  test('what stops an update is an error of the update', () =>
    expect(summarizePreconditions([failed(true)], false).error).toMatchObject({
      reason: 'UpgradePreconditionCheckFailed',
      names: ['PreconditionCheck'],
    }));
});
