import { ManagedClusterAction, Policy } from '@flotilla/api/ocm';
import { trimChild } from '@flotilla/rollout';
import { describe, expect, test } from 'vitest';
import { actionObject, agentCondition, clusterObject, UPGRADE, viewObject } from '../../../../testing/observation-builders.ts';
import { trimAction, trimView } from '../../../trims.ts';
import { precacheNames } from '../../jobs/kinds/precache/job.ts';
import { type Answer, reportOf } from '../port/port.ts';
import { type CachedSpoke, observeActions, readAnswer } from './observe.ts';

const processing = (status: 'True' | 'False', reason: string, message = '') => ({
  conditions: [agentCondition('Processing', status, reason, message)],
});
const getting = (result: unknown) => ({ ...processing('True', 'GetResourceProcessing', 'Watching resources successfully'), result });
const job = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'pre-cache', namespace: 'openshift-talo-pre-cache' },
  status: { active: 1 },
};
const deep = (depth: number): unknown => {
  let value: unknown = 'end';
  for (let i = 0; i < depth; i++) value = { inside: value };
  return value;
};

describe('readAnswer follows spec/ocm 1.12', () => {
  const rows: { name: string; status: unknown; want: Answer['kind']; message?: string }[] = [
    { name: 'no status', status: undefined, want: 'pending' },
    { name: 'a status without conditions', status: {}, want: 'pending' },
    { name: 'a result without a condition', status: { result: job }, want: 'pending' },
    {
      name: 'a condition of another type',
      status: { conditions: [agentCondition('Other', 'True', 'GetResourceProcessing')], result: job },
      want: 'pending',
    },
    { name: 'the object asked for', status: getting(job), want: 'found' },
    {
      name: 'True with another reason',
      status: { ...processing('True', 'Whatever', 'odd'), result: job },
      want: 'unknown',
      message: 'odd',
    },
    {
      name: 'not found',
      status: processing('False', 'GetResourceFailed', 'failed to get resource with err: jobs.batch "pre-cache" not found'),
      want: 'absent',
    },
    {
      name: 'not found, with an old result left',
      status: { ...processing('False', 'GetResourceFailed', 'jobs.batch "pre-cache" not found'), result: job },
      want: 'absent',
    },
    {
      name: 'refused, with an old result left',
      status: { ...processing('False', 'GetResourceFailed', 'forbidden'), result: job },
      want: 'unknown',
      message: 'forbidden',
    },
    {
      name: 'not found for another reason than the read',
      status: processing('False', 'ResourceTypeInvalid', 'the kind was not found'),
      want: 'unknown',
      message: 'the kind was not found',
    },
    {
      name: 'a message that merely has the words',
      status: processing('False', 'GetResourceFailed', 'host not found in DNS'),
      want: 'unknown',
      message: 'host not found in DNS',
    },
    {
      name: 'another kind',
      status: getting({ ...job, kind: 'CronJob' }),
      want: 'unknown',
      message: 'the answer is about CronJob pre-cache',
    },
    {
      name: 'another name',
      status: getting({ ...job, metadata: { ...job.metadata, name: 'other' } }),
      want: 'unknown',
      message: 'the answer is about Job other',
    },
    { name: 'another namespace', status: getting({ ...job, metadata: { ...job.metadata, namespace: 'default' } }), want: 'unknown' },
    { name: 'a text', status: getting('hello'), want: 'unknown' },
    { name: 'a list', status: getting([job]), want: 'unknown' },
    { name: 'null', status: getting(null), want: 'unknown' },
    { name: 'a kind that is no text', status: getting({ ...job, kind: 7 }), want: 'unknown' },
    { name: 'metadata that is no object', status: getting({ kind: 'Job', metadata: 'x' }), want: 'unknown' },
    {
      name: 'annotations that are no texts',
      status: getting({ ...job, metadata: { ...job.metadata, annotations: { a: { b: 1 } } } }),
      want: 'unknown',
    },
    { name: 'a status that is no object', status: getting({ ...job, status: 'running' }), want: 'found' },
    { name: 'a deep status', status: getting({ ...job, status: deep(5000) }), want: 'found' },
    { name: 'a huge object', status: getting({ ...job, spec: { filler: 'x'.repeat(1_000_000) } }), want: 'found' },
  ];

  test.each(rows)('$name is $want', ({ status, want, message }) => {
    const view = viewObject('view-precache-job', status);
    for (const each of [view, trimView(view)]) {
      const answer = readAnswer(each, precacheNames.views.job.target);
      expect(answer.kind).toBe(want);
      if (message !== undefined) expect(answer).toMatchObject({ message });
    }
  });

  test('a malformed job status stays malformed, a huge one becomes small', () => {
    const trimmed = (status: unknown) => trimView(viewObject('view-precache-job', getting({ ...job, status }))).status?.result;
    expect(trimmed({ succeeded: 'yes' })).toMatchObject({ status: 'malformed' });
    expect(trimmed(undefined)).toMatchObject({ status: {} });
    const conditions = Array.from({ length: 10_000 }, (_, i) => ({
      type: i === 9_999 ? 'Failed' : `Type${i}`,
      status: 'True',
      reason: 'DeadlineExceeded',
    }));
    const small = trimmed({ active: 1, uncountedTerminatedPods: { failed: Array.from({ length: 10_000 }, String) }, conditions });
    expect(small).toMatchObject({ status: { active: 1, conditions: [{ type: 'Failed', reason: 'DeadlineExceeded' }] } });
    expect(JSON.stringify(small).length).toBeLessThan(500);
  });

  test('the kept part of a hostile answer is small', () => {
    const hostile = {
      ...job,
      metadata: {
        ...job.metadata,
        annotations: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key-${i}`, 'x'.repeat(50)])),
      },
      spec: { filler: 'x'.repeat(500_000) },
    };
    expect(JSON.stringify(trimView(viewObject('view-precache-job', getting(hostile)))).length).toBeLessThan(1000);
  });

  test('endless values of annotations that are kept are cut: marks to what the hub writes, a report to the longest', () => {
    const annotations = Object.fromEntries(
      ['upgrade-uid', 'spec-digest', 'progress'].map((key) => [`flotilla.io/${key}`, 'x'.repeat(500_000)]),
    );
    const hostile = { ...job, metadata: { ...job.metadata, annotations } };
    expect(JSON.stringify(trimView(viewObject('view-precache-job', getting(hostile)))).length).toBeLessThan(18_000);
  });
});

describe('the report on a Job', () => {
  const report = {
    phase: 'pulling',
    imagesDone: 1,
    imagesTotal: 12,
    bytesDone: 10,
    bytesTotal: 200,
    bytesPerSecond: 5,
    at: '2026-01-01T00:00:00Z',
  };
  const answer = (progress: unknown): Answer => {
    const reported = { ...job, metadata: { ...job.metadata, annotations: { 'flotilla.io/progress': progress } } };
    return readAnswer(trimView(viewObject('view-precache-job', getting(reported))), precacheNames.views.job.target);
  };

  test('reads a report', () =>
    expect(reportOf(answer(JSON.stringify(report)))).toMatchObject({ imagesDone: 1, imagesTotal: 12, bytesPerSecond: 5 }));

  test.each([
    { name: 'no JSON', text: '{"phase":' },
    { name: 'an empty text', text: '' },
    { name: 'a list', text: '[]' },
    { name: 'null', text: 'null' },
    { name: 'texts for numbers', text: JSON.stringify({ ...report, imagesDone: '1' }) },
    { name: 'a fraction', text: JSON.stringify({ ...report, bytesDone: 0.5 }) },
    { name: 'a number no counter has', text: JSON.stringify({ ...report, bytesTotal: 1e300 }) },
    { name: 'an unknown phase', text: JSON.stringify({ ...report, phase: 'sleeping' }) },
    { name: 'more than 64 KiB', text: JSON.stringify({ ...report, message: 'x'.repeat(70_000) }) },
    { name: 'deep nesting', text: '['.repeat(30_000) },
    { name: 'no text at all', text: 7 },
  ])('$name is no report', ({ text }) => expect(reportOf(answer(text))).toBeUndefined());

  test('an answer that is not there is no report', () => {
    for (const kind of ['pending', 'absent'] as const) expect(reportOf({ kind })).toBeUndefined();
    expect(reportOf(undefined)).toBeUndefined();
  });
});

describe('observeActions', () => {
  const readSpoke = (parts: Partial<CachedSpoke>) =>
    observeActions(precacheNames, UPGRADE.uid, { cluster: undefined, views: [], actions: [], ...parts });
  const done = (status: 'True' | 'False', reason: string, message = '') => agentCondition('Completed', status, reason, message);
  const outcomes: { name: string; condition?: ReturnType<typeof agentCondition>; want: 'pending' | 'executed' | 'failed' }[] = [
    { name: 'no condition', want: 'pending' },
    { name: 'a condition of another type', condition: agentCondition('Other', 'True', 'ActionDone'), want: 'pending' },
    { name: 'done', condition: done('True', 'ActionDone'), want: 'executed' },
    { name: 'created before', condition: done('False', 'CreateResourceFailed', 'namespaces "a" already exists'), want: 'executed' },
    { name: 'deleted before', condition: done('False', 'DeleteResourceFailed', 'namespaces "a" not found'), want: 'executed' },
    {
      name: 'created in a namespace that is not there',
      condition: done('False', 'CreateResourceFailed', 'namespaces "a" not found'),
      want: 'failed',
    },
    { name: 'refused', condition: done('False', 'CreateResourceFailed', 'forbidden'), want: 'failed' },
    { name: 'an action type nobody knows', condition: done('False', 'ActionTypeInvalid'), want: 'failed' },
  ];
  test.each(outcomes)('an action: $name is $want', ({ condition, want }) => {
    const action = trimAction(actionObject('precache-job-create', condition));
    expect(readSpoke({ actions: [action] }).actions.get('precache-job-create')).toMatchObject({
      ours: true,
      outcome: want,
    });
  });

  test('an action keeps what a later step needs, and nothing else', () => {
    const full = ManagedClusterAction.schema.parse({
      ...actionObject('precache-job-create', done('True', 'ActionDone'), { 'flotilla.io/template': 'abc', 'flotilla.io/retries': '3' }),
      spec: { actionType: 'Create', kube: { template: { filler: 'x'.repeat(10_000) } } },
    });
    expect(JSON.stringify(trimAction(full)).length).toBeLessThan(1000);
    expect(readSpoke({ actions: [trimAction(full)] }).actions.get('precache-job-create')).toMatchObject({
      template: 'abc',
      retries: 3,
    });
  });

  test('retries that are no number count as none', () => {
    const action = actionObject('precache-job-create', undefined, { 'flotilla.io/retries': 'many' });
    expect(readSpoke({ actions: [action] }).actions.get('precache-job-create')).toMatchObject({ retries: 0 });
  });

  test('objects of others are seen as such', () => {
    const foreign = viewObject('view-precache-job', getting(job), {});
    expect(readSpoke({ views: [foreign] }).jobView).toMatchObject({ ours: false });
  });

  test('a spoke is available when its condition says so, or when nothing is said of it at all', () => {
    const silent = { ...clusterObject(false), status: { conditions: [] } };
    const shown = [clusterObject(true), silent, { ...silent, status: undefined }, clusterObject(false), undefined];
    expect(shown.map((cluster) => readSpoke({ cluster }).available)).toEqual([true, true, true, false, false]);
  });
});

describe('trimChild', () => {
  const child = (templates: unknown[]) =>
    Policy.schema.parse({
      metadata: { name: 'policies.upgrade', namespace: 'spoke' },
      spec: { remediationAction: 'inform', 'policy-templates': templates },
    });

  test.each([
    { name: 'with a hub template', templates: [{ a: '{{hub x hub}}' }], kept: true },
    { name: 'without', templates: [{ a: 'x'.repeat(100_000) }], kept: false },
  ])('a copy $name', ({ templates, kept }) => {
    const text = JSON.stringify(trimChild(child(templates)));
    expect(text.includes('{{hub')).toBe(kept);
    expect(text.length).toBeLessThan(500);
  });

  test('a copy nested deeper than anything reads is one that cannot be resolved', () => {
    expect(JSON.stringify(trimChild(child([deep(20_000)]))).length).toBeLessThan(500);
  });
});
