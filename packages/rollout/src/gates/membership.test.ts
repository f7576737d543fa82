import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { findMembershipProblem, isOpenToMembers } from './membership.ts';

test.each([
  { value: undefined, isOpen: false, problem: undefined },
  { value: 'frozen', isOpen: false, problem: undefined },
  { value: 'add', isOpen: true, problem: undefined },
  {
    value: 'Add',
    isOpen: false,
    problem: 'Annotation flotilla.io/membership is "Add", which is not known; write "frozen" or "add", or remove the annotation',
  },
  { value: 'add', backup: true, isOpen: false, problem: expect.stringContaining('spec.backup is true') },
])('membership $value, with backup: $backup', ({ value, backup = false, isOpen, problem }) => {
  const annotations = value === undefined ? {} : { 'flotilla.io/membership': value };
  const upgrade = ClusterGroupUpgrade.schema.parse({
    metadata: { name: 'u', annotations },
    spec: { backup, remediationStrategy: { maxConcurrency: 1 } },
  });
  expect(isOpenToMembers(upgrade)).toBe(isOpen);
  expect(findMembershipProblem(upgrade)).toEqual(problem);
});
