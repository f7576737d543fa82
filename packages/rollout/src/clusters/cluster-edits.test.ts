import { ManagedCluster } from '@flotilla/api/ocm';
import { describe, expect, test } from 'vitest';
import type { ClusterEdits } from '../upgrade/model.ts';
import { areEditsApplied, clusterPatch, findEditProblem } from './cluster-edits.ts';

const clusterWith = (labels?: Record<string, string>, annotations?: Record<string, string>) =>
  ManagedCluster.schema.parse({ metadata: { name: 'spoke', uid: 'uid-spoke', labels, annotations } });

interface Row {
  readonly name: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly edits?: ClusterEdits;
  readonly nameLabel?: boolean;
  /** Absent: nothing is to be written. */
  readonly want?: { labels?: Record<string, string | null>; annotations?: Record<string, string | null> };
}

const rows: Row[] = [
  { name: 'no edits' },
  { name: 'a label that is missing is added', edits: { addClusterLabels: { a: '1' } }, want: { labels: { a: '1' } } },
  { name: 'a label that is there is left alone', labels: { a: '1', b: '2' }, edits: { addClusterLabels: { a: '1' } } },
  {
    name: 'a label with another value is changed',
    labels: { a: '0' },
    edits: { addClusterLabels: { a: '1' } },
    want: { labels: { a: '1' } },
  },
  { name: 'a label with an empty value is added', edits: { addClusterLabels: { a: '' } }, want: { labels: { a: '' } } },
  { name: 'a label is removed', labels: { a: '1', b: '2' }, edits: { removeClusterLabels: ['a'] }, want: { labels: { a: null } } },
  { name: 'a label that is gone needs no removal', labels: { b: '2' }, edits: { removeClusterLabels: ['a'] } },
  {
    name: 'the deprecated map deletes by key, whatever the value',
    labels: { a: '1' },
    edits: { deleteClusterLabels: { a: 'other' } },
    want: { labels: { a: null } },
  },
  {
    name: 'what is added and removed is removed',
    labels: { a: '0' },
    edits: { addClusterLabels: { a: '1' }, removeClusterLabels: ['a'] },
    want: { labels: { a: null } },
  },
  {
    name: 'what is added and deleted by the deprecated map is removed',
    edits: { addClusterLabels: { a: '1', b: '1' }, deleteClusterLabels: { a: '' } },
    want: { labels: { b: '1' } },
  },
  {
    name: 'annotations are added and removed, removal last',
    annotations: { old: '1', both: '0' },
    edits: { addClusterAnnotations: { new: 'text with spaces', both: '1' }, removeClusterAnnotations: ['old', 'both'] },
    want: { annotations: { new: 'text with spaces', old: null, both: null } },
  },
  {
    name: 'labels and annotations of the same key are two things',
    labels: { a: '1' },
    annotations: { a: '1' },
    edits: { removeClusterLabels: ['a'], addClusterAnnotations: { a: '2' } },
    want: { labels: { a: null }, annotations: { a: '2' } },
  },
  { name: 'a missing label name is added', labels: { a: '1' }, nameLabel: true, want: { labels: { name: 'spoke' } } },
  { name: 'a label name that is there is left alone', labels: { name: 'other' }, nameLabel: true },
  { name: 'a label name that nobody needs is not added', edits: {}, nameLabel: false },
  {
    name: 'what the user says of the label name counts',
    nameLabel: true,
    edits: { addClusterLabels: { name: 'mine' } },
    want: { labels: { name: 'mine' } },
  },
  { name: 'a user who removes the label name is obeyed', nameLabel: true, edits: { removeClusterLabels: ['name'] } },
  { name: 'a key that every object inherits is no label', edits: { removeClusterLabels: ['constructor', 'toString'] } },
];

describe('clusterPatch', () => {
  test.each(rows)('$name', ({ labels, annotations, edits, nameLabel, want }) => {
    const patch = clusterPatch(clusterWith(labels, annotations), edits, { nameLabel });
    expect(patch).toEqual(want && { metadata: { uid: 'uid-spoke', ...want } });
    expect(areEditsApplied(clusterWith(labels, annotations), edits, { nameLabel })).toBe(want === undefined);
  });

  test.each(rows)('$name: applied once, nothing is left to do', ({ labels, annotations, edits, nameLabel, want }) => {
    const after = clusterWith(merged(labels, want?.labels), merged(annotations, want?.annotations));
    expect(clusterPatch(after, edits, { nameLabel })).toBeUndefined();
  });
});

test('protected keys are left alone even by edits that were made after the validation', () => {
  const edits = { addClusterLabels: { ours: 'x' }, addClusterAnnotations: { 'flotilla.io/runtime-storage': '/' } };
  const patch = clusterPatch(clusterWith({}, {}), edits);
  expect(patch).toEqual({ metadata: { uid: 'uid-spoke', labels: { ours: 'x' } } });
});

function merged(before: Record<string, string> = {}, patch: Record<string, string | null> = {}): Record<string, string> {
  const result = { ...before };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = value;
  }
  return result;
}

describe('findEditProblem', () => {
  const at = 'spec.actions.beforeEnable';
  test.each<{ name: string; edits: ClusterEdits | undefined; want: RegExp | undefined }>([
    { name: 'no edits', edits: undefined, want: undefined },
    {
      name: 'usable edits',
      edits: {
        addClusterLabels: { 'a.io/b-c_d.e': 'v', 'ztp-done': '' },
        addClusterAnnotations: { a: 'any text\nat all' },
        removeClusterLabels: ['!'],
      },
      want: undefined,
    },
    {
      name: 'a key with a space',
      edits: { addClusterLabels: { 'a b': '' } },
      want: /beforeEnable\.addClusterLabels: key "a b" cannot be used; give/,
    },
    { name: 'a key with two slashes', edits: { addClusterAnnotations: { 'a/b/c': '' } }, want: /addClusterAnnotations: key "a\/b\/c"/ },
    { name: 'a prefix with capitals', edits: { addClusterLabels: { 'A.io/b': '' } }, want: /key "A\.io\/b"/ },
    { name: 'a key that is too long', edits: { addClusterLabels: { ['k'.repeat(64)]: '' } }, want: /key "k+" cannot be used/ },
    {
      name: 'a key of ours, which says what is mounted on nodes',
      edits: { addClusterAnnotations: { 'flotilla.io/runtime-storage': '/' } },
      want: /beforeEnable\.addClusterAnnotations: key "flotilla\.io\/runtime-storage" may not be edited.*remove it/,
    },
    {
      name: 'the set a cluster belongs to',
      edits: { addClusterLabels: { 'cluster.open-cluster-management.io/clusterset': 'prod' } },
      want: /addClusterLabels: key "cluster\.open-cluster-management\.io\/clusterset" may not be edited/,
    },
    {
      name: 'a protected key that is removed',
      edits: { removeClusterAnnotations: ['flotilla.io/runtime-socket'] },
      want: /removeClusterAnnotations: key "flotilla\.io\/runtime-socket" may not be edited/,
    },
    {
      name: 'a protected key that is removed in the old way',
      edits: { deleteClusterLabels: { 'feature.open-cluster-management.io/addon-work-manager': '' } },
      want: /deleteClusterLabels: key "feature\.open-cluster-management\.io\/addon-work-manager" may not be edited/,
    },
    {
      name: 'a protected label that is removed',
      edits: { removeClusterLabels: ['open-cluster-management.io/x'] },
      want: /removeClusterLabels: key "open-cluster-management\.io\/x" may not be edited/,
    },
    { name: 'a prefix that only ends alike', edits: { addClusterLabels: { 'notflotilla.io/a': '' } }, want: undefined },
    {
      name: 'what the reference and its users set',
      edits: { addClusterLabels: { 'ztp-done': '', 'ztp-running': '', 'ran.openshift.io/x': '' }, removeClusterLabels: ['ztp-running'] },
      want: undefined,
    },
    { name: 'a value with a slash', edits: { addClusterLabels: { key: 'a/b' } }, want: /value "a\/b" of key cannot be used; give/ },
    { name: 'a value that is too long', edits: { addClusterLabels: { key: 'v'.repeat(64) } }, want: /value "v+" of key/ },
  ])('$name', ({ edits, want }) => {
    if (want) expect(findEditProblem(edits, at)).toMatch(want);
    else expect(findEditProblem(edits, at)).toBeUndefined();
  });
});
