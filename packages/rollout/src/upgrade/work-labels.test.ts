import { describe, expect, test } from 'vitest';
import { labelValue, workLabels } from './work-labels.ts';

const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

describe('labelValue', () => {
  test('leaves a text of 63 characters as it is', () => expect(labelValue('a'.repeat(63))).toBe('a'.repeat(63)));

  test('makes a longer text a value that an API server takes', () => {
    expect(labelValue('a'.repeat(64))).toMatch(LABEL_VALUE);
    expect(labelValue(`${'a'.repeat(53)}.${'b'.repeat(60)}`)).toMatch(LABEL_VALUE);
  });

  test('tells long texts with the same beginning apart', () => {
    expect(labelValue(`${'a'.repeat(70)}1`)).not.toBe(labelValue(`${'a'.repeat(70)}2`));
  });
});

test('the labels of an upgrade with the longest name are such that an API server takes them', () => {
  const labels = workLabels({ namespace: 'n'.repeat(63), name: 'a'.repeat(253), uid: 'uid-1' }, 'precache');
  expect(labels).toMatchObject({ 'flotilla.io/upgrade-uid': 'uid-1', 'flotilla.io/work': 'precache' });
  for (const value of Object.values(labels)) expect(value).toMatch(LABEL_VALUE);
});
