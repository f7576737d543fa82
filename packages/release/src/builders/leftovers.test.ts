import { expect, test } from 'vitest';
import { type Json, objectAt } from '../json-values.ts';
import { isSameContent } from './drift.ts';
import { SHARED_FIELD_MANAGER } from './field-owners.ts';
import { writesSharedList } from './leftovers.ts';
import { configMap } from './simple-kinds.ts';
import { deployment } from './workloads.ts';

const OURS = 'flotilla-version-operator';
const REFERENCE = 'cluster-version-operator';
const entry = (manager: string, fieldsV1: Json, more: Json = {}): Json => ({ manager, operation: 'Update', fieldsV1, ...more });
const dataOf = (...keys: string[]): Json => ({ 'f:data': Object.fromEntries(keys.map((key) => [`f:${key}`, {}])) });
const built = { kind: 'ConfigMap', metadata: { name: 'c' }, data: { kept: '1' } };
const live = (...managedFields: Json[]): Json => ({ ...built, metadata: { name: 'c', managedFields }, data: { kept: '1', old: '1' } });

test.each<{ name: string; owners: Json[]; goes: boolean }>([
  { name: 'what we wrote goes', owners: [entry(OURS, dataOf('kept', 'old'))], goes: true },
  { name: 'what we applied goes', owners: [entry(OURS, dataOf('old'), { operation: 'Apply' })], goes: true },
  { name: 'what the reference operator wrote goes', owners: [entry(REFERENCE, dataOf('old'))], goes: true },
  { name: 'what we wrote beside somebody goes', owners: [entry(SHARED_FIELD_MANAGER, dataOf('old'))], goes: true },
  { name: 'what an installer wrote stays', owners: [entry('cluster-bootstrap', dataOf('old'))], goes: false },
  { name: 'what somebody else wrote stays', owners: [entry(OURS, dataOf('kept')), entry('kubectl-edit', dataOf('old'))], goes: false },
  {
    name: 'what somebody else says too stays',
    owners: [entry(OURS, dataOf('old')), entry('argocd', dataOf('old'), { operation: 'Apply' })],
    goes: false,
  },
  { name: 'what we wrote into a status stays', owners: [entry(OURS, dataOf('old'), { subresource: 'status' })], goes: false },
  { name: 'what nobody says who wrote stays', owners: [], goes: false },
])('$name', ({ owners, goes }) => {
  const object = live(...owners);
  expect(objectAt(configMap.merge(object, built).data)).toEqual(goes ? { kept: '1' } : { kept: '1', old: '1' });
  expect(isSameContent(object, configMap.merge(object, built))).toBe(!goes);
});

const toleration = (key: string) => ({ key, operator: 'Exists' });
const pod = (...keys: string[]): Json => ({
  metadata: { name: 'd' },
  spec: { selector: {}, template: { spec: { containers: [], tolerations: keys.map(toleration) } } },
});
const wrote = { 'f:spec': { 'f:template': { 'f:spec': { 'f:tolerations': {} } } } };
const owned = (object: Json, ...managers: string[]): Json => ({
  ...object,
  metadata: { name: 'd', managedFields: managers.map((manager) => entry(manager, wrote)) },
});
const tolerationsOf = (object: Json | undefined): unknown => objectAt(objectAt(objectAt(objectAt(object?.spec).template).spec)).tolerations;

test.each<{ name: string; managers: string[]; want: string[]; shared: boolean }>([
  { name: 'of a list that we alone wrote', managers: [OURS], want: ['new'], shared: false },
  { name: 'of a list that somebody else wrote', managers: ['kubectl-edit'], want: ['old', 'new'], shared: true },
  { name: 'of a list into which we wrote beside somebody', managers: [SHARED_FIELD_MANAGER], want: ['old', 'new'], shared: true },
  {
    name: 'of a list of the reference operator, which keeps what others put there',
    managers: [REFERENCE],
    want: ['old', 'new'],
    shared: true,
  },
])('what is left $name', ({ managers, want, shared }) => {
  const object = owned(pod('old'), ...managers);
  const next = deployment.merge(object, pod('new'));
  expect(tolerationsOf(next)).toEqual(want.map(toleration));
  expect(writesSharedList(object, next)).toBe(shared);
});
